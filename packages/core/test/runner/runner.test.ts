import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Runner } from "../../src/runner/Runner.ts"
import type { Change } from "../../src/storage/Change.ts"
import type { ClaimQuery, Storage } from "../../src/storage/Storage.ts"
import { prompt } from "../quoting/carriers.ts"
import * as Log from "../quoting/log.ts"
import { advance, cancel, feed, pass, read, runDue, start, testInWorld, work } from "../support/world.ts"
import { away, makeHurdle, makePoison } from "./obstacles.ts"

const live = { environment: "live" } as const
const carriers = [prompt("first").adapter, prompt("second").adapter]

const reasonOf = (id: string, options: object) =>
  Effect.map(read(id, options), ({ quote_request }) => quote_request.status_details.reason)

describe("a job whose handler crashes", () => {
  testInWorld("is retried, and makes only its own request fail after five attempts", () => {
    const { poison, poisoned } = makePoison()
    return {
      ...poisoned,
      carriers,
      body: Effect.gen(function* () {
        yield* work
        const bad = yield* start({}, live)
        poison.id = bad.application_id
        const good = yield* start({}, live)
        yield* pass(10)
        assert.strictEqual(yield* reasonOf(good.id, live), "quotes_ready")
        yield* pass(4 * 30_000 + 2_000)
        assert.strictEqual(poison.tries, 5)
        assert.strictEqual(yield* reasonOf(bad.id, live), "queued")
        yield* pass(30_000)
        assert.strictEqual(poison.tries, 5)
        const { quote_request } = yield* read(bad.id, live)
        assert.deepStrictEqual(
          [quote_request.status, quote_request.status_details.reason, quote_request.version],
          ["failed", "internal_error", 2]
        )
        const events = (yield* feed(live)).filter(({ resource }) => resource.id === bad.id)
        assert.deepStrictEqual(
          events.map(({ type }) => type),
          ["quote_request.queued", "quote_request.failed"]
        )
      })
    }
  })

  testInWorld("delays its sandbox's advance only until the job is abandoned", () => {
    const { poison, poisoned } = makePoison()
    return {
      ...poisoned,
      body: Effect.gen(function* () {
        const bad = yield* start()
        poison.id = bad.application_id
        const good = yield* start()
        let waits = 0
        const repeated = Effect.retry(advance(60, { idempotency_key: "held-up" }), {
          while: ({ retry_action }) => Effect.sync(() => retry_action === "wait" && ++waits > 0)
        })
        const advancing = yield* Effect.forkChild(repeated)
        for (let i = 0; i < 40 && advancing.pollUnsafe() === undefined; i++) yield* pass(5_000)
        const { workspace } = yield* Fiber.join(advancing)
        // No call lasts that long: each one tells its caller to retry, and the retry continues the advance.
        assert.isAbove(waits, 0)
        assert.strictEqual(workspace.clock_offset_seconds, 60)
        assert.strictEqual(poison.tries, 5)
        assert.strictEqual(yield* reasonOf(bad.id, {}), "internal_error")
        assert.strictEqual((yield* read(good.id)).quote_request.status, "completed")
        const times = (yield* feed()).map(({ occurred_at }) => occurred_at)
        assert.deepStrictEqual(times, times.toSorted())
      })
    }
  })
})

describe("ordered jobs with the same due time", () => {
  testInWorld("wait for the first job's retry if that job's handler crashes", () => {
    const { poison, poisoned } = makePoison()
    return {
      ...poisoned,
      body: Effect.gen(function* () {
        const starts = yield* Effect.forEach([1, 2, 3], () => start())
        poison.id = starts[0]?.application_id ?? ""
        const ended = (index: number) => reasonOf(starts[index]?.id ?? "", {})
        yield* work
        yield* pass(2_000)
        assert.strictEqual(poison.tries, 1)
        for (const index of [0, 1, 2]) assert.strictEqual(yield* ended(index), "queued")
        poison.id = ""
        yield* pass(31_000)
        for (const index of [0, 1, 2]) assert.notStrictEqual(yield* ended(index), "queued")
        const begun = (yield* feed()).filter(({ type }) => type !== "quote_request.queued")
        const firsts = starts.map(({ id }) => begun.findIndex(({ resource }) => resource.id === id))
        assert.deepStrictEqual(
          firsts,
          firsts.toSorted((one, other) => one - other)
        )
      })
    }
  })
})

describe("a runner", () => {
  testInWorld(
    "runs due jobs and the jobs they create, and reports when the next work is due",
    Effect.gen(function* () {
      const { id } = yield* start({}, live)
      const runner = yield* Runner
      assert.strictEqual((yield* runner.runDue()).jobs, 3)
      assert.strictEqual(yield* reasonOf(id, live), "quotes_ready")
      const idle = yield* runner.runDue()
      assert.deepStrictEqual(idle, { jobs: 0, next_due_at: Date.parse("2026-11-20T12:01:30.000Z") })
    }),
    { carriers }
  )

  testInWorld(
    "runs no job twice while other runners run jobs concurrently",
    Effect.gen(function* () {
      yield* Effect.all([work, work, work])
      const started = yield* Effect.forEach(
        Array.from({ length: 30 }),
        () => start({ line: "personal_auto", scenario: "quotes_ready" }),
        {
          concurrency: "unbounded"
        }
      )
      // In small steps: sealing takes real time, for which the test clock does not wait.
      yield* Effect.repeat(pass(1_000), { times: 60 })
      for (const { id } of started) {
        const { quote_request, quotes } = yield* read(id)
        assert.strictEqual(quote_request.status, "completed")
        assert.strictEqual(quote_request.version, 7)
        assert.deepStrictEqual(
          quotes.map((quote) => quote.id),
          quote_request.quote_ids
        )
      }
      const events = yield* feed()
      const finals = events.filter(({ type }) => type === "quote_request.completed")
      assert.lengthOf(finals, 30)
      const names = events.map(({ resource, type }) => `${type} ${resource.id} ${resource.version}`)
      assert.lengthOf(new Set(names), names.length)
    })
  )

  testInWorld("makes no more claims for a workspace's concurrent advances than for sequential advances", () => {
    /** How often storage was asked for work. */
    const claims = { count: 0 }
    return {
      around: (storage) => ({
        ...storage,
        claim: (query: ClaimQuery) =>
          Effect.suspend(() => {
            claims.count++
            return storage.claim(query)
          })
      }),
      body: Effect.gen(function* () {
        const claimsOf = Effect.fnUntraced(function* (advances: ReadonlyArray<number>, concurrency: number) {
          yield* Effect.forEach(Array.from({ length: 20 }), () => start({ scenario: "quotes_ready" }))
          const before = claims.count
          yield* Effect.forEach(advances, (seconds) => advance(seconds), { concurrency })
          return claims.count - before
        })
        const inTurn = yield* claimsOf([15, 15, 15, 15], 1)
        assert.isAbove(inTurn, 0)
        assert.isAtMost(yield* claimsOf([15, 15, 15, 15], 4), inTurn)
        assert.lengthOf(
          (yield* feed()).filter(({ type }) => type === "quote_request.completed"),
          40
        )
      })
    }
  })

  testInWorld(
    "takes over a dead runner's jobs when the dead runner's lease has expired",
    Effect.gen(function* () {
      const { id } = yield* start({ line: "personal_auto" })
      yield* pass(1_000)
      const dying = yield* Effect.forkChild(Effect.forever(runDue))
      yield* TestClock.adjust(0)
      yield* Fiber.interrupt(dying)
      yield* work
      yield* pass(95_000)
      assert.strictEqual((yield* read(id)).quote_request.status, "completed")
    })
  )

  testInWorld("releases its jobs if it is interrupted, so that another runner continues immediately", () => {
    const { hurdle, hurdled } = makeHurdle()
    return {
      ...hurdled,
      carriers,
      body: Effect.gen(function* () {
        hurdle.first = Effect.never
        const { id } = yield* start({}, live)
        const brokenOff = yield* Effect.forkChild(runDue)
        yield* TestClock.adjust(0)
        assert.isNull(hurdle.first)
        yield* Fiber.interrupt(brokenOff)
        yield* runDue
        assert.strictEqual(yield* reasonOf(id, live), "quotes_ready")
      })
    }
  })

  testInWorld("continues as soon as storage is back if storage failed during a job", () => {
    const { hurdle, hurdled } = makeHurdle()
    return {
      ...hurdled,
      carriers,
      body: Effect.gen(function* () {
        hurdle.first = Effect.suspend(() => {
          hurdle.isAway = true
          return away
        })
        let id = ""
        const lines = yield* Log.logOf(
          Effect.gen(function* () {
            yield* work
            id = (yield* start({}, live)).id
            yield* pass(5_000)
          })
        )
        const waits = lines.filter(({ text }) => text === "Storage is unreachable; jobs wait")
        assert.deepStrictEqual(new Set(waits.map(({ annotations }) => annotations.why)), new Set(["SQLSTATE 53100"]))
        assert.isTrue(hurdle.isAway)
        hurdle.isAway = false
        yield* pass(2_000)
        assert.strictEqual(yield* reasonOf(id, live), "quotes_ready")
      })
    }
  })

  testInWorld("retries ever less often, and abandons no job, while it can claim jobs but not commit", () => {
    /** Whether the disk is full: existing rows can be read and leased, but nothing new can be stored. */
    const full = { isFull: false, refused: 0 }
    const filling = {
      around: (storage: Storage["Service"]) => ({
        ...storage,
        commit: (change: Change) =>
          Effect.suspend(() => {
            if (!full.isFull) return storage.commit(change)
            // Only jobs are counted, because the request log also tries to write.
            full.refused += change.finishes.length
            return away
          })
      })
    }
    return {
      ...filling,
      carriers,
      body: Effect.gen(function* () {
        const { id } = yield* start({}, live)
        full.isFull = true
        yield* work
        yield* pass(60_000)
        // At 0, 1, 3, 7, 15, 30, 45 and 60 seconds.
        assert.strictEqual(full.refused, 8)
        full.isFull = false
        yield* pass(15_000)
        assert.strictEqual(yield* reasonOf(id, live), "quotes_ready")
      })
    }
  })

  testInWorld(
    "starts new work immediately after a hint",
    Effect.gen(function* () {
      yield* work
      const { id } = yield* start({}, live)
      yield* pass(0)
      assert.strictEqual(yield* reasonOf(id, live), "quotes_ready")
    }),
    { carriers }
  )

  testInWorld(
    "finds work without a hint within a second",
    Effect.gen(function* () {
      yield* work
      yield* pass(10)
      const { id } = yield* start({}, live)
      yield* pass(500)
      assert.strictEqual(yield* reasonOf(id, live), "queued")
      yield* pass(500)
      assert.notStrictEqual(yield* reasonOf(id, live), "queued")
    }),
    { carriers, around: (storage) => ({ ...storage, watch: () => Effect.void }) }
  )

  testInWorld(
    "claims nothing after it was stopped",
    Effect.gen(function* () {
      const stop = yield* work
      yield* stop
      const { id } = yield* start({}, live)
      yield* pass(60_000)
      assert.strictEqual(yield* reasonOf(id, live), "queued")
    }),
    { carriers }
  )
})

describe("a cancellation", () => {
  testInWorld(
    "ends a queued request, and returns the same response when it is repeated",
    Effect.gen(function* () {
      const { id } = yield* start({ scenario: "waits_in_queue" })
      yield* advance(299)
      const first = yield* cancel(id)
      assert.deepStrictEqual(first, { id, version: 2, status: "cancelled" })
      assert.deepStrictEqual(yield* cancel(id), first)
      yield* advance(3_600)
      const { quote_request } = yield* read(id)
      assert.deepStrictEqual(
        [quote_request.status, quote_request.status_details.reason, quote_request.updated_at],
        ["failed", "cancelled_by_caller", "2026-11-20T12:04:59.000Z"]
      )
      assert.deepStrictEqual(
        (yield* feed()).map(({ type }) => type),
        ["quote_request.queued", "quote_request.cancelled"]
      )
    })
  )

  testInWorld(
    "changes nothing once work on the request has begun",
    Effect.gen(function* () {
      const { id } = yield* start()
      yield* advance(1)
      assert.deepStrictEqual(yield* cancel(id), { id, version: 2, status: "cannot_stop" })
      yield* advance(60)
      const { version } = (yield* read(id)).quote_request
      assert.deepStrictEqual(yield* cancel(id), { id, version, status: "cannot_stop" })
    })
  )

  testInWorld(
    "has one outcome and one final event, even if it races with the start of the work",
    Effect.gen(function* () {
      for (let i = 0; i < 20; i++) {
        const { id } = yield* start({}, live)
        const [, result] = yield* Effect.all([runDue, cancel(id, live)], { concurrency: "unbounded" })
        yield* runDue
        const reason = yield* reasonOf(id, live)
        assert.strictEqual(reason, result.status === "cancelled" ? "cancelled_by_caller" : "quotes_ready")
        const finals = (yield* feed(live)).filter(
          ({ resource, type }) => resource.id === id && /completed|failed|cancelled|incomplete/.test(type)
        )
        assert.lengthOf(finals, 1)
      }
    }),
    { carriers }
  )
})
