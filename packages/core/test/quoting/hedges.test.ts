import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import type { CarrierReply } from "../../src/carriers/Carrier.ts"
import { Erasures } from "../../src/quoting/erasing/Erasures.ts"
import { all, onRecord, testRecorded } from "../carriers/onRecord.ts"
import { beginning, live, outcomes, pass, read, start, testInWorld, work } from "../support/world.ts"
import { carrier, carriers, declined, offers, type ScriptedCarrier, slow, unavailable } from "./carriers.ts"

const secondsOf = (carrier: ScriptedCarrier) => carrier.asks.map(({ at }) => (at - beginning) / 1_000)

/** An answer and its delay in seconds. A string is the message of an error that the adapter throws. */
type Answer = readonly [seconds: number, answer: CarrierReply | string]

/**
 * A carrier that is hedged after four seconds. It answers the first call and the hedge as given, and no later call.
 */
const hedged = (first: Answer, second: Answer) =>
  carrier(
    "hedged",
    (_, nth) => {
      const [seconds, answer] = [first, second][nth - 1] ?? [0, unavailable("maintenance")]
      return Effect.delay(
        typeof answer === "string" ? Effect.die(new Error(answer)) : Effect.succeed(answer),
        seconds * 1_000
      )
    },
    { hedge_after_ms: 4_000 }
  )

describe("a hedge", () => {
  testInWorld("sends an identical ask to an idempotent carrier that stalls, and to no other carrier", () => {
    const stalls = hedged([14, offers()], [1, offers()])
    const careful = slow("careful", 14_000, offers(), { hedge_after_ms: 4_000, idempotent: false })
    return {
      ...carriers(stalls, careful),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(5_000)
        assert.deepStrictEqual(secondsOf(stalls), [0, 4])
        assert.deepStrictEqual(stalls.asks[0]?.ask, stalls.asks[1]?.ask)
        assert.deepStrictEqual(yield* outcomes(id), ["hedged quoted", "careful pending"])
        yield* pass(20_000)
        assert.lengthOf(careful.asks, 1)
        assert.lengthOf((yield* read(id, live)).quotes, 2)
      })
    }
  })

  testInWorld("counts against the carrier's limits", () => {
    const stalls = slow("stalls", 14_000, offers(), { hedge_after_ms: 1_000, max_concurrent: 1 })
    return {
      ...carriers(stalls),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(20_000)
        assert.lengthOf(stalls.asks, 1)
        assert.deepStrictEqual(yield* outcomes(id), ["stalls quoted"])
      })
    }
  })

  const unreadable: CarrierReply = JSON.parse('{ "kind": "declined", "reason": "full_moon" }')
  const races: ReadonlyArray<readonly [string, Answer, Answer, number, string]> = [
    [
      "does not end the first call if the hedge is rate limited",
      [8, offers()],
      [1, unavailable("rate_limited")],
      8,
      "quoted"
    ],
    ["does not end the first call if the hedge fails", [8, offers()], [1, unavailable("carrier_error")], 8, "quoted"],
    ["does not end the first call if the hedge throws", [8, offers()], [1, "broken"], 8, "quoted"],
    ["does not end the first call if the hedge's answer is unreadable", [8, offers()], [1, unreadable], 8, "quoted"],
    ["continues if the first call fails", [5, unavailable("carrier_error")], [3, offers()], 7, "quoted"],
    ["continues if the first call throws", [5, "broken"], [3, offers()], 7, "quoted"],
    ["ends the ask if the hedge is declined", [8, offers()], [1, declined], 5, "declined prior_claims"],
    [
      "leaves the first call's failure reason if both calls fail",
      [5, unavailable("maintenance")],
      [3, unavailable("carrier_error")],
      7,
      "no_answer maintenance"
    ]
  ]
  for (const [what, first, second, seconds, outcome] of races) {
    const scripted = hedged(first, second)
    testInWorld(
      what,
      Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(seconds * 1_000 - 100)
        assert.deepStrictEqual(yield* outcomes(id), ["hedged pending"])
        yield* pass(100)
        assert.deepStrictEqual(yield* outcomes(id), [`hedged ${outcome}`])
        assert.deepStrictEqual(secondsOf(scripted), [0, 4])
      }),
      carriers(scripted)
    )
  }

  testInWorld("is not sent if the first call has already failed", () => {
    const failing = hedged([1, unavailable("maintenance")], [1, offers()])
    return {
      ...carriers(failing),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(1_000)
        assert.deepStrictEqual(yield* outcomes(id), ["hedged no_answer maintenance"])
        yield* pass(10_000)
        assert.deepStrictEqual(secondsOf(failing), [0])
      })
    }
  })

  testInWorld("is not sent once the person's data was erased", () => {
    const stalls = hedged([14, offers()], [1, offers()])
    return {
      ...carriers(stalls),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(3_000)
        yield* Effect.flatMap(Erasures, ({ erase }) => erase({ quote_request_id: id }, { by: "ticket 1" }))
        yield* pass(20_000)
        assert.deepStrictEqual(secondsOf(stalls), [0])
      })
    }
  })

  testRecorded(
    "is recorded with the first call's answer if the hedge throws",
    Effect.gen(function* () {
      yield* work
      yield* start({}, live)
      yield* pass(8_000)
      const [record] = yield* onRecord()
      assert.deepInclude(record, { outcome: "offers", reason: null, fault: "Error" })
    }),
    hedged([8, offers()], [1, "broken"]),
    { recording: all }
  )

  testRecorded(
    "leaves the first call's failure reason in the record if both calls fail",
    Effect.gen(function* () {
      yield* work
      yield* start({}, live)
      yield* pass(8_000)
      const [record] = yield* onRecord()
      assert.deepInclude(record, { outcome: "unavailable", reason: "maintenance", fault: "Error" })
    }),
    hedged([8, unavailable("maintenance")], [1, "broken"]),
    { recording: all }
  )
})
