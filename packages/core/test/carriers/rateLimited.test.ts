import { assert, describe } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import type { CarrierReply } from "../../src/carriers/Carrier.ts"
import { CarrierTransport } from "../../src/carriers/CarrierTransport.ts"
import { defineCarrier } from "../../src/carriers/defineCarrier.ts"
import * as Reply from "../../src/carriers/Reply.ts"
import { carrier, carriers, offers, prompt, type ScriptedCarrier } from "../quoting/carriers.ts"
import { beginning, live, outcomes, pass, start, testInWorld, work } from "../support/world.ts"
import * as FakeCarrier from "./fakeCarrier.ts"

const busy = (retryAfterMs: number): CarrierReply => Reply.unavailable("rate_limited", retryAfterMs)

/** When a carrier was asked, in seconds since the start. */
const secondsOf = ({ asks }: ScriptedCarrier) => asks.map(({ at }) => (at - beginning) / 1_000)

/** The outcome of each carrier after `seconds` of a live request. */
const after = Effect.fnUntraced(function* (seconds: number) {
  yield* work
  const { id } = yield* start({}, live)
  for (let passed = 0; passed < seconds; passed++) yield* pass(1_000)
  return yield* outcomes(id)
})

describe("a rate-limited ask", () => {
  for (const idempotent of [true, false]) {
    testInWorld(
      `is retried at the time that the carrier names, ${idempotent ? "if the carrier is idempotent" : "even if the carrier is not idempotent"}`,
      () => {
        const refusing = carrier("busy", (_, nth) => Effect.succeed(nth < 3 ? busy(20_000) : offers()), { idempotent })
        return {
          ...carriers(refusing),
          body: Effect.gen(function* () {
            assert.deepStrictEqual(yield* after(50), ["busy quoted"])
            assert.deepStrictEqual(secondsOf(refusing), [0, 20, 40])
            assert.deepStrictEqual(
              refusing.asks.map(({ ask }) => ask.attempt),
              [1, 2, 3]
            )
          })
        }
      }
    )
  }

  testInWorld("ends as rate limited after five attempts with increasing pauses", () => {
    const refusing = prompt("busy", busy(100), { idempotent: false })
    return {
      ...carriers(refusing),
      body: Effect.gen(function* () {
        assert.deepStrictEqual(yield* after(60), ["busy no_answer rate_limited"])
        assert.lengthOf(refusing.asks, 5)
        const pauses = secondsOf(refusing).map((at, place, all) => at - (all[place - 1] ?? 0))
        for (const [place, least] of [0, 0.5, 1, 2, 4].entries()) assert.isAtLeast(pauses[place] ?? -1, least)
      })
    }
  })

  testInWorld("ends as rate limited immediately if the carrier demands a longer wait than the time left", () => {
    const refusing = prompt("busy", busy(89_500))
    return {
      ...carriers(refusing),
      body: Effect.gen(function* () {
        assert.deepStrictEqual(yield* after(1), ["busy no_answer rate_limited"])
        assert.lengthOf(refusing.asks, 1)
      })
    }
  })

  testInWorld("ends as rate limited if the carrier's declared rate leaves too little time", () => {
    const rationed = prompt("rationed", offers(), { rate_per_minute: 1 })
    return {
      ...carriers(rationed),
      body: Effect.gen(function* () {
        yield* work
        const started = yield* Effect.forEach([1, 2, 3], () => start({}, live))
        yield* pass(59_000)
        yield* pass(3_000)
        const ended = yield* Effect.forEach(started, ({ id }) => outcomes(id))
        assert.sameMembers(ended.flat(), ["rationed quoted", "rationed quoted", "rationed no_answer rate_limited"])
        assert.lengthOf(rationed.asks, 2)
      })
    }
  })

  testInWorld("does not open the carrier's circuit", () => {
    const refusing = prompt("busy", busy(0))
    const other = prompt("other")
    return {
      ...carriers(refusing, other),
      body: Effect.gen(function* () {
        yield* work
        for (let i = 0; i < 6; i++) yield* start({}, live)
        for (let passed = 0; passed < 40; passed++) yield* pass(1_000)
        assert.lengthOf(refusing.asks, 30)
        const { id } = yield* start({}, live)
        yield* pass(10)
        assert.deepStrictEqual(yield* outcomes(id), ["busy pending", "other quoted"])
      })
    }
  })

  testInWorld("is polled again at the time that the carrier names", () => {
    const polls: Array<number> = []
    const polled = prompt(
      "polled",
      { kind: "pending", ref: "no. 1", poll_after_ms: 2_000 },
      {
        mode: "poll",
        rest: {
          poll: () =>
            Effect.map(Clock.currentTimeMillis, (at) => {
              polls.push((at - beginning) / 1_000)
              return polls.length === 1 ? busy(30_000) : offers()
            })
        }
      }
    )
    return {
      ...carriers(polled),
      body: Effect.gen(function* () {
        assert.deepStrictEqual(yield* after(33), ["polled quoted"])
        assert.deepStrictEqual(polls, [2, 32])
      })
    }
  })
})

describe("answers over HTTP", () => {
  const asked = (idempotent: boolean) =>
    defineCarrier({
      id: "naic:12345",
      name: "Acme Mutual",
      environments: ["live"],
      lines: { renters: { states: ["NY"], idempotent } },
      handoff_hosts: ["carrier.example"],
      http: { base_url: "https://api.acme.example" },
      ask: async ({ http }) => {
        await http.post("/quotes")
        return Reply.decline("prior_claims")
      }
    })
  for (const [status, retry_after, idempotent] of [
    [429, "20", false],
    [503, "20", true],
    [503, "60", true]
  ] as const) {
    const server = FakeCarrier.make((_, count) =>
      count === 1 ? FakeCarrier.status(status, { "retry-after": retry_after }) : FakeCarrier.json({})
    )
    testInWorld(
      `a ${status} with a Retry-After of ${retry_after} seconds causes a retry after that time`,
      Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(Number(retry_after) * 1_000 - 1)
        assert.lengthOf(server.requests, 1)
        yield* pass(2_000)
        assert.lengthOf(server.requests, 2)
        assert.deepStrictEqual(yield* outcomes(id), ["naic:12345 declined prior_claims"])
      }),
      { carriers: [asked(idempotent)], surroundings: Layer.succeed(CarrierTransport, server.client) }
    )
  }

  testInWorld("a 503 with a short Retry-After ends the ask if the carrier is not idempotent", () => {
    const server = FakeCarrier.make(() => FakeCarrier.status(503, { "retry-after": "5" }))

    return {
      carriers: [asked(false)],
      surroundings: Layer.succeed(CarrierTransport, server.client),
      body: Effect.gen(function* () {
        assert.deepStrictEqual(yield* after(30), ["naic:12345 no_answer carrier_error"])
        assert.lengthOf(server.requests, 1)
      })
    }
  })
})
