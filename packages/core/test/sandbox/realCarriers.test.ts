import { assert, describe } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { Runner } from "../../src/runner/Runner.ts"
import { Storage } from "../../src/storage/Storage.ts"
import { offer, offers, silent, slow } from "../quoting/carriers.ts"
import { logOf } from "../quoting/log.ts"
import {
  advance,
  anotherHost,
  feed,
  pass,
  read,
  refusal,
  reset,
  type Scripted,
  start,
  testInWorld,
  work
} from "../support/world.ts"
import { advanceInRealTime, connected, kinds, type RealCarrier, real } from "./realTime.ts"

const carriers = (...all: ReadonlyArray<Pick<RealCarrier, "adapter">>) => ({
  carriers: all.map(({ adapter }) => adapter)
})

/** How many seconds of real time something takes. */
const secondsOf = <A, E, R>(body: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const before = yield* Clock.currentTimeMillis
    yield* body
    return ((yield* Clock.currentTimeMillis) - before) / 1_000
  })

/** The outcome of each carrier of a request. */
const outcomesOf = (id: string) =>
  Effect.map(read(id), ({ quote_request }) =>
    quote_request.carriers.map(({ carrier, outcome, reason }) => [carrier.id, outcome, reason].join(" ").trim())
  )

/** A test in which jobs run in the background. */
const test = (name: string, make: () => Scripted) =>
  testInWorld(name, () => {
    const { body, ...options } = make()
    return { ...options, body: Effect.andThen(work, body) }
  })

describe("an advance of the clock", () => {
  test("waits in real time for a carrier that is asked during the advance", () => {
    const takesItsTime = slow("slow", 6_000, offers(), { idempotent: false })
    return {
      ...carriers(takesItsTime),
      body: Effect.gen(function* () {
        const { id } = yield* start()
        const took = yield* secondsOf(advanceInRealTime(3_600))
        assert.isAtLeast(took, 6)
        assert.isBelow(took, 8)
        assert.deepStrictEqual(yield* outcomesOf(id), ["slow quoted"])
        assert.lengthOf(takesItsTime.asks, 1)
        const [created] = (yield* feed()).filter(({ type }) => type === "quote.created")
        assert.strictEqual(created?.occurred_at, "2026-11-20T12:00:07.000Z")
      })
    }
  })

  test("waits for a carrier at most until the ask's attempt times out", () => {
    const never = silent("silent", { attempt_timeout_ms: 5_000, idempotent: false })
    return {
      ...carriers(never),
      body: Effect.gen(function* () {
        const { id } = yield* start()
        assert.isBelow(yield* secondsOf(advanceInRealTime(3_600)), 7)
        assert.deepStrictEqual(yield* outcomesOf(id), ["silent no_answer timeout"])
      })
    }
  })

  test("waits for a callback until the attempt's timeout, and then moves past the deadline", () => {
    const accepts = real(
      "accepts",
      (_, { idempotency_key }) => ({
        after_ms: 0,
        reply: { kind: "pending", ref: idempotency_key, poll_after_ms: null }
      }),
      { mode: "callback", attempt_timeout_ms: 4_000, typical_ms: 1_000 }
    )
    return {
      ...carriers(accepts),
      body: Effect.gen(function* () {
        const { id } = yield* start()
        const took = yield* secondsOf(advanceInRealTime(3_600))
        assert.isAtLeast(took, 4)
        assert.isBelow(took, 7)
        assert.deepStrictEqual(yield* outcomesOf(id), ["accepts no_answer timeout"])
      })
    }
  })

  test("continues as soon as a carrier has called back", () => {
    const callsBack = kinds["calls back"]?.("calls-back", 3_000)
    if (callsBack === undefined) throw new Error("There is no such kind of carrier")
    return {
      ...carriers(callsBack),
      body: Effect.gen(function* () {
        yield* connected([callsBack])
        const { id } = yield* start()
        assert.isBelow(yield* secondsOf(advanceInRealTime(3_600)), 6)
        assert.deepStrictEqual(yield* outcomesOf(id), ["calls-back quoted"])
      })
    }
  })

  test("pauses when a carrier must be asked to refresh its offer, and waits for the answer", () => {
    const refreshed: Array<string> = []
    const refreshes = real(
      "refreshes",
      () => ({ after_ms: 1_000, reply: offers(offer({ refresh_after_ms: 600_000 })) }),
      {
        rest: {
          refresh: (ask) => {
            refreshed.push(new Date(ask.now).toISOString())
            return Effect.delay(Effect.succeed({ kind: "withdrawn" } as const), 2_000)
          }
        }
      }
    )
    return {
      ...carriers(refreshes),
      body: Effect.gen(function* () {
        yield* start()
        const took = yield* secondsOf(advanceInRealTime(3_600))
        assert.isAtLeast(took, 3)
        assert.isBelow(took, 6)
        assert.deepStrictEqual(refreshed, ["2026-11-20T12:10:02.000Z"])
        const withdrawn = (yield* feed()).find(({ type }) => type === "quote.updated")
        assert.strictEqual(withdrawn?.occurred_at, "2026-11-20T12:10:02.000Z")
      })
    }
  })

  test("is refused with `wait` if carriers answer too slowly, and the error names the carriers", () => {
    const polled = real(
      "polled",
      (_, { idempotency_key }) => ({
        after_ms: 0,
        reply: { kind: "pending", ref: idempotency_key, poll_after_ms: 5_000 }
      }),
      { mode: "poll" }
    )
    return {
      ...carriers(polled),
      body: Effect.gen(function* () {
        const { id } = yield* start()
        const asking = yield* Effect.forkChild(refusal(advance(3_600, { idempotency_key: "an-hour" })))
        yield* pass(46_000)
        const { _tag, message, retry_action } = yield* Fiber.join(asking)
        assert.deepStrictEqual([_tag, retry_action], ["conflict", "wait"])
        assert.include(message, "3,599 seconds are left")
        assert.include(message, "The polled (polled)")
        const again = yield* Effect.forkChild(advance(3_600, { idempotency_key: "an-hour" }))
        yield* pass(30_000)
        const { workspace } = yield* Fiber.join(again)
        assert.strictEqual(workspace.clock_offset_seconds, 3_600)
        assert.deepStrictEqual(yield* outcomesOf(id), ["polled no_answer timeout"])
      })
    }
  })

  test("repeatedly logs the carriers that it waits for, the remaining time and its speed", () => {
    const takesItsTime = slow("slow", 14_000)
    return {
      ...carriers(takesItsTime),
      body: Effect.gen(function* () {
        yield* start()
        const lines = yield* logOf(advanceInRealTime(60))
        const waits = lines.filter(({ text }) => text.includes("waits for carriers"))
        assert.isAbove(waits.length, 1)
        for (const { annotations } of waits) {
          const { carrier_ids, jobs, jobs_per_second, left_seconds } = annotations
          assert.deepStrictEqual(carrier_ids, ["slow"])
          assert.isAbove(Number(left_seconds), 0)
          assert.deepStrictEqual([typeof jobs, typeof jobs_per_second], ["number", "number"])
        }
      })
    }
  })

  test("logs nothing about a carrier that answers within a second", () => {
    const quick = slow("quick", 500)
    return {
      ...carriers(quick),
      body: Effect.gen(function* () {
        const { id } = yield* start()
        const lines = yield* logOf(advanceInRealTime(60))
        assert.deepStrictEqual(yield* outcomesOf(id), ["quick quoted"])
        assert.deepStrictEqual(lines, [])
      })
    }
  })

  testInWorld("waits for a dead host's ask until the lease has expired, and then for the next host's ask", () => {
    const orphaned = slow("orphaned", 2_000, offers(), { idempotent: false })
    return {
      ...carriers(orphaned),
      body: Effect.gen(function* () {
        const { id } = yield* start()
        yield* advance(1)
        const storage = yield* Storage
        const now = yield* Clock.currentTimeMillis
        assert.lengthOf((yield* storage.claim({ now, lease_ms: 30_000, limit: 100 })).jobs, 1)
        yield* work
        const took = yield* secondsOf(advanceInRealTime(3_600))
        assert.isAtLeast(took, 30)
        assert.isBelow(took, 40)
        assert.deepStrictEqual(yield* outcomesOf(id), ["orphaned quoted"])
        assert.lengthOf(orphaned.asks, 1)
      })
    }
  })

  testInWorld("waits for an ask that another host makes", () => {
    const takesItsTime = slow("slow", 9_000, offers(), { idempotent: false })
    return {
      ...carriers(takesItsTime),
      body: Effect.gen(function* () {
        const there = yield* anotherHost(carriers(takesItsTime))
        yield* (yield* there(Runner.use(Effect.succeed))).forever
        const { id } = yield* start()
        yield* pass(3_000)
        assert.lengthOf(takesItsTime.asks, 1)
        yield* advanceInRealTime(3_600)
        assert.deepStrictEqual(yield* outcomesOf(id), ["slow quoted"])
        assert.lengthOf(takesItsTime.asks, 1)
      })
    }
  })

  test("ends if the sandbox is reset while it waits", () => {
    const never = silent("silent")
    return {
      ...carriers(never),
      body: Effect.gen(function* () {
        yield* start()
        const advancing = yield* Effect.forkChild(advance(3_600))
        yield* pass(3_000)
        yield* reset()
        yield* pass(2_000)
        assert.strictEqual((yield* Fiber.join(advancing)).workspace.clock_offset_seconds, 0)
      })
    }
  })

  testInWorld("moves past the deadline if no host asks a carrier, and reports the carrier as not asked", () => {
    const untried = real("untried", () => ({ after_ms: 0, reply: offers() }))
    return {
      ...carriers(untried),
      body: Effect.gen(function* () {
        const { id } = yield* start()
        const took = yield* secondsOf(advanceInRealTime(3_600))
        assert.isAtLeast(took, 59)
        assert.isBelow(took, 63)
        const { quote_request } = yield* read(id)
        assert.deepStrictEqual(
          quote_request.carriers.map(({ asked_at, outcome }) => [asked_at, outcome]),
          [[null, "no_answer"]]
        )
        assert.lengthOf(untried.asks, 0)
      })
    }
  })
})
