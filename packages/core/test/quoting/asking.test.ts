import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import type { CarrierReply } from "../../src/carriers/Carrier.ts"
import { beginning, feed, live, outcomes, pass, read, start, testInWorld, work } from "../support/world.ts"
import {
  carrier,
  carriers,
  declined,
  offers,
  polled,
  prompt,
  type ScriptedCarrier,
  silent,
  slow,
  unavailable
} from "./carriers.ts"

const secondsOf = (carrier: ScriptedCarrier) => carrier.asks.map(({ at }) => (at - beginning) / 1_000)

describe("an ask to a carrier", () => {
  testInWorld("times out after 15 seconds, and the request ends without waiting for the deadline", () => {
    const never = silent("never", { idempotent: false, attempt_timeout_ms: 3_600_000 })
    return {
      ...carriers(never),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(14_900)
        assert.deepStrictEqual(yield* outcomes(id), ["never pending"])
        yield* pass(100)
        assert.deepStrictEqual(yield* outcomes(id), ["never no_answer timeout"])
        assert.strictEqual((yield* read(id, live)).quote_request.status_details.reason, "no_carrier_answered")
      })
    }
  })

  for (const reason of ["carrier_error", "timeout"] as const) {
    testInWorld(`is retried with the same idempotency key if an idempotent carrier replies ${reason}`, () => {
      const once = carrier("flaky", (_, nth) => Effect.succeed(nth === 1 ? unavailable(reason) : offers()))
      return {
        ...carriers(once),
        body: Effect.gen(function* () {
          yield* work
          const { id } = yield* start({}, live)
          yield* pass(0)
          assert.lengthOf(once.asks, 1)
          yield* pass(1_500)
          assert.deepStrictEqual(
            once.asks.map(({ ask }) => ask.attempt),
            [1, 2]
          )
          assert.strictEqual(once.asks[0]?.ask.idempotency_key, once.asks[1]?.ask.idempotency_key)
          assert.isAtLeast(secondsOf(once)[1] ?? 0, 0.5)
          assert.deepStrictEqual(yield* outcomes(id), ["flaky quoted"])
        })
      }
    })
  }

  testInWorld("is retried at most once", () => {
    const broken = prompt("broken", unavailable("carrier_error"))
    return {
      ...carriers(broken),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(95_000)
        assert.lengthOf(broken.asks, 2)
        assert.deepStrictEqual(yield* outcomes(id), ["broken no_answer carrier_error"])
      })
    }
  })

  testInWorld("is not retried after a decline or a refusal, or if the carrier is not idempotent", () => {
    const others: ReadonlyArray<readonly [string, CarrierReply]> = [
      ["declined", declined],
      ["rate_limited", unavailable("rate_limited")],
      ["maintenance", unavailable("maintenance")]
    ]
    const scripted = others.map(([id, reply]) => prompt(id, reply))
    const careful = prompt("careful", unavailable("carrier_error"), { idempotent: false })
    return {
      ...carriers(...scripted, careful),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(95_000)
        for (const { asks } of [...scripted, careful]) assert.lengthOf(asks, 1)
        assert.deepStrictEqual(yield* outcomes(id), [
          "declined declined prior_claims",
          "rate_limited no_answer rate_limited",
          "maintenance no_answer maintenance",
          "careful no_answer carrier_error"
        ])
      })
    }
  })

  testInWorld("is not attempted again when less than the carrier's typical response time is left", () => {
    const late = prompt(
      "late",
      { kind: "unavailable", reason: "timeout", retry_after_ms: 86_000 },
      { typical_ms: 5_000 }
    )
    return {
      ...carriers(late),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(89_000)
        assert.lengthOf(late.asks, 1)
        assert.deepStrictEqual(yield* outcomes(id), ["late no_answer timeout"])
      })
    }
  })

  testInWorld("ends at the request's deadline, 90 seconds after the start", () => {
    const early = slow("early", 10_000)
    const never = polled("never", Number.POSITIVE_INFINITY)
    return {
      ...carriers(early, never),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(89_999)
        assert.strictEqual((yield* read(id, live)).quote_request.status_details.reason, "quotes_arriving")
        yield* pass(1)
        const { quote_request } = yield* read(id, live)
        assert.strictEqual(quote_request.status_details.reason, "quotes_ready_some_silent")
        assert.strictEqual(quote_request.deadline_at, "2026-11-20T12:01:30.000Z")
        assert.strictEqual(quote_request.updated_at, quote_request.deadline_at)
      })
    }
  })

  testInWorld("changes nothing after the request has ended", () => {
    const answers = slow("answers", 200)
    return {
      ...carriers(answers),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(500)
        const before = yield* read(id, live)
        const events = yield* feed(live)
        yield* pass(100_000)
        assert.deepStrictEqual(yield* read(id, live), before)
        assert.deepStrictEqual(yield* feed(live), events)
      })
    }
  })
})

describe("a host", () => {
  testInWorld("runs at most as many concurrent asks as a carrier allows, and delays no other carrier", () => {
    const narrow = slow("narrow", 2_000, offers(), { max_concurrent: 2 })
    const quick = prompt("quick")
    return {
      ...carriers(narrow, quick),
      body: Effect.gen(function* () {
        yield* work
        const started = yield* Effect.forEach(Array.from({ length: 6 }), () => start({}, live))
        yield* pass(100)
        assert.lengthOf(quick.asks, 6)
        assert.lengthOf(narrow.asks, 2)
        yield* pass(2_500)
        assert.lengthOf(narrow.asks, 4)
        yield* pass(10_000)
        assert.lengthOf(narrow.asks, 6)
        for (const { id } of started) assert.deepStrictEqual(yield* outcomes(id), ["narrow quoted", "quick quoted"])
      })
    }
  })

  testInWorld("starts at most as many asks per minute as a carrier allows", () => {
    const rationed = prompt("rationed", offers(), { rate_per_minute: 3 })
    return {
      ...carriers(rationed),
      body: Effect.gen(function* () {
        yield* work
        yield* Effect.forEach(Array.from({ length: 8 }), () => start({}, live))
        yield* pass(59_900)
        assert.lengthOf(rationed.asks, 3)
        yield* pass(1_000)
        assert.lengthOf(rationed.asks, 6)
        yield* pass(60_000)
        // The last two ran out of time, because their requests ended after 90 seconds.
        assert.lengthOf(rationed.asks, 6)
      })
    }
  })

  testInWorld("writes nothing to storage for asks that must wait for the next minute", () => {
    const rationed = prompt("rationed", offers(), { rate_per_minute: 1 })
    let commits = 0
    return {
      ...carriers(rationed),
      around: (storage) => ({
        ...storage,
        commit: (change) => {
          commits++
          return storage.commit(change)
        }
      }),
      body: Effect.gen(function* () {
        yield* work
        const started = yield* Effect.forEach(Array.from({ length: 50 }), () => start({}, live))
        // By then the starts themselves are in the request log.
        yield* pass(1_000)
        commits = 0
        yield* pass(58_000)
        assert.strictEqual(commits, 0)
        yield* pass(40_000)
        assert.lengthOf(rationed.asks, 2)
        for (const { id } of started) assert.notStrictEqual((yield* read(id, live)).quote_request.status, "in_progress")
      })
    }
  })

  testInWorld("is not blocked by a carrier that hangs, however many asks are open", () => {
    const hangs = silent("hangs", { idempotent: false })
    const quick = prompt("quick")
    return {
      ...carriers(hangs, quick),
      body: Effect.gen(function* () {
        yield* work
        const started = yield* Effect.forEach(Array.from({ length: 300 }), () => start({}, live))
        yield* pass(1_000)
        assert.lengthOf(hangs.asks, 300)
        assert.lengthOf(quick.asks, 300)
        const last = started.at(-1)
        assert.deepStrictEqual(yield* outcomes(last?.id ?? ""), ["hangs pending", "quick quoted"])
      })
    }
  })

  testInWorld("waits for at most 2,000 answers concurrently, and sends the next ask when an ask ends", () => {
    const hangs = silent("hangs", { rate_per_minute: 10_000, max_concurrent: 10_000 })
    return {
      ...carriers(hangs),
      body: Effect.gen(function* () {
        yield* work
        yield* Effect.forEach(Array.from({ length: 2_010 }), () => start({}, live))
        // In two steps: with so many fibers, the last one may run only after the clock's first move.
        yield* pass(13_000)
        yield* pass(1_000)
        assert.lengthOf(hangs.asks, 2_000)
        yield* pass(1_100)
        assert.lengthOf(
          hangs.asks.filter(({ ask }) => ask.attempt === 1),
          2_010
        )
      })
    }
  })
})
