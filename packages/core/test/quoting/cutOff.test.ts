import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import type { Storage } from "../../src/storage/Storage.ts"
import { Timelines } from "../../src/timeline/Timelines.ts"
import { live, outcomes, pass, read, runDue, start, testInWorld } from "../support/world.ts"
import { carrier, carriers, offers, type ScriptedCarrier } from "./carriers.ts"

/* A dead host holds its jobs until their leases expire. Then another host finds that they were cut off. */

const leaseMs = 30_000
const longestPauseMs = 10_000

/** A host that runs due jobs and dies while it waits for a carrier, without releasing its leases. */
const workAndDie = Effect.gen(function* () {
  const host = yield* Effect.forkChild(runDue)
  yield* pass(0)
  yield* Fiber.interrupt(host)
  yield* pass(leaseMs)
})

const inWorldOfDeaths = (...all: ReadonlyArray<ScriptedCarrier>) => ({
  ...carriers(...all),
  around: (storage: Storage["Service"]) => ({ ...storage, release: () => Effect.void })
})

/** A carrier whose first answers crash the process. */
const deadly = (id: string, times: number) =>
  carrier(id, (_, nth) => (nth <= times ? Effect.never : Effect.succeed(offers())), { idempotent: true })

describe("an ask interrupted by a crash", () => {
  testInWorld("is not retried if the carrier is not idempotent, and the timeline shows the crash", () => {
    const scripted = carrier("once", () => Effect.never, { idempotent: false })
    return {
      ...inWorldOfDeaths(scripted),
      body: Effect.gen(function* () {
        const { id } = yield* start({}, live)
        yield* workAndDie
        yield* runDue
        yield* pass(longestPauseMs)
        yield* runDue
        assert.lengthOf(scripted.asks, 1)
        assert.deepStrictEqual(yield* outcomes(id), ["once no_answer timeout"])
        const { entries } = yield* Effect.flatMap(Timelines, (timelines) => timelines.read(id))
        const faults = entries.flatMap((entry) => (entry.what === "exchange" ? [entry.details.fault] : []))
        assert.deepStrictEqual(faults, ["ProcessEnded"])
      })
    }
  })
  testInWorld("is retried once after a pause, and then fails with a reason in the timeline", () => {
    const scripted = deadly("deadly", Number.POSITIVE_INFINITY)
    return {
      ...inWorldOfDeaths(scripted),
      body: Effect.gen(function* () {
        const { id } = yield* start({}, live)
        yield* workAndDie
        yield* runDue
        assert.lengthOf(scripted.asks, 1)
        yield* pass(longestPauseMs)
        yield* workAndDie
        assert.lengthOf(scripted.asks, 2)
        assert.strictEqual(scripted.asks[0]?.ask.idempotency_key, scripted.asks[1]?.ask.idempotency_key)
        yield* runDue
        yield* pass(longestPauseMs)
        yield* runDue
        assert.lengthOf(scripted.asks, 2)
        assert.deepStrictEqual(yield* outcomes(id), ["deadly no_answer carrier_error"])
        const { entries } = yield* Effect.flatMap(Timelines, (timelines) => timelines.read(id))
        const told = entries.flatMap((entry) =>
          entry.what === "exchange" ? [[entry.details.attempt, entry.details.fault]] : []
        )
        assert.deepStrictEqual(told, [
          [1, "ProcessEnded"],
          [2, "ProcessEnded"]
        ])
      })
    }
  })

  testInWorld("is retried and answered if another ask caused the crash", () => {
    const innocent = deadly("innocent", 1)
    return {
      ...inWorldOfDeaths(innocent),
      body: Effect.gen(function* () {
        const { id } = yield* start({}, live)
        yield* workAndDie
        yield* runDue
        yield* pass(longestPauseMs)
        yield* runDue
        assert.lengthOf(innocent.asks, 2)
        assert.deepStrictEqual(yield* outcomes(id), ["innocent quoted"])
      })
    }
  })

  for (const [what, deaths, outcome] of [
    ["has crashed two processes", 2, "accepts no_answer carrier_error"],
    ["has crashed one process", 1, "accepts quoted"]
  ] as const) {
    testInWorld(`${deaths === 2 ? "fails" : "is polled again after a pause"} if its poll ${what}`, () => {
      let polls = 0
      const accepts = carrier(
        "accepts",
        () => Effect.succeed({ kind: "pending", ref: "ref-1", poll_after_ms: 2_000 }),
        {
          mode: "poll",
          rest: {
            poll: () =>
              Effect.suspend(() => {
                polls += 1
                return polls <= deaths ? Effect.never : Effect.succeed(offers())
              })
          }
        }
      )
      return {
        ...inWorldOfDeaths(accepts),
        body: Effect.gen(function* () {
          polls = 0
          const { id } = yield* start({}, live)
          yield* runDue
          yield* pass(2_000)
          yield* workAndDie
          yield* runDue
          assert.strictEqual(polls, 1)
          yield* pass(longestPauseMs)
          if (deaths === 2) yield* workAndDie
          yield* runDue
          assert.strictEqual(polls, 2)
          assert.deepStrictEqual(yield* outcomes(id), [outcome])
          assert.lengthOf((yield* read(id, live)).quotes, deaths === 2 ? 0 : 1)
        })
      }
    })
  }
})
