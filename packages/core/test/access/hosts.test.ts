import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { Cost } from "../../src/access/limits/Limits.ts"
import { caller, host, shared } from "./support.ts"

/*
 * Several hosts on one storage backend, each with its own `Allowance`.
 */

const start: Cost = { start: 1 }
const reconciled = TestClock.adjust(1_000)

describe("hosts that share one storage backend", () => {
  it.effect("share call counts: a host refuses a start after sixty starts on another host", () =>
    Effect.gen(function* () {
      const { service } = yield* shared
      const [a, b] = [yield* host(service), yield* host(service)]
      yield* TestClock.adjust(5_000)
      assert.strictEqual(yield* a.exhaust(start), 60)
      yield* reconciled
      const error = yield* Effect.flip(b.spend(start))
      assert.strictEqual(error.message, "The limit of 60 quote request starts per key per minute was reached.")
      assert.strictEqual(error.retry_after_seconds, 54)
      assert.strictEqual(yield* b.exhaust(start, caller(2)), 60)
      yield* TestClock.adjust(54_000)
      yield* b.spend(start)
    })
  )

  it.effect("see each other's calls with a cached key within a second", () =>
    Effect.gen(function* () {
      const { service } = yield* shared
      const [a, b] = [yield* host(service), yield* host(service)]
      yield* a.spend(start)
      yield* b.spend(start)
      for (let i = 0; i < 29; i++) {
        yield* a.spend(start)
        yield* b.spend(start)
      }
      yield* reconciled
      assert.strictEqual((yield* Effect.flip(a.spend(start)))._tag, "rate_limited")
      assert.strictEqual((yield* Effect.flip(b.spend(start)))._tag, "rate_limited")
    })
  )

  it.effect("share the call counts of organizations and addresses", () =>
    Effect.gen(function* () {
      const { service } = yield* shared
      const [a, b] = [yield* host(service), yield* host(service)]
      for (const digit of [1, 2, 3, 4]) assert.strictEqual(yield* a.exhaust(start, caller(digit)), 60)
      yield* reconciled
      assert.strictEqual(yield* b.exhaust(start, caller(5)), 60)
      const error = yield* Effect.flip(b.spend(start, caller(6)))
      assert.strictEqual(
        error.message,
        "The limit of 300 quote request starts per organization per minute was reached."
      )
      yield* b.spend(start, caller(6, 7))
      for (let i = 0; i < 60; i++) yield* a.failed("192.0.2.9")
      yield* reconciled
      assert.strictEqual((yield* Effect.flip(b.failed("192.0.2.9")))._tag, "rate_limited")
      yield* b.failed("192.0.2.8")
    })
  )

  it.effect("read counts from storage periodically, not on each call", () =>
    Effect.gen(function* () {
      const { state, service } = yield* shared
      const a = yield* host(service)
      for (const digit of [1, 2, 3]) {
        for (let i = 0; i < 200; i++) yield* a.spend({ read: 1 }, caller(digit))
      }
      // One read for each key when it is first seen, and nothing else until time passes.
      assert.strictEqual(state.tallied.length, 3)
      yield* reconciled
      assert.strictEqual(state.tallied.length, 4)
      // Each call is counted once, for its key and for the organization.
      assert.strictEqual(
        state.tallied.flat().reduce((sum, { added }) => sum + added, 0),
        2 * 600
      )
      yield* TestClock.adjust(60_000)
      assert.strictEqual(state.tallied.length, 4)
    })
  )

  it.effect("enforce limits separately during a storage outage, and share counts afterwards", () =>
    Effect.gen(function* () {
      const { state, service } = yield* shared
      const [a, b] = [yield* host(service), yield* host(service)]
      state.isAway = true
      for (let i = 0; i < 40; i++) yield* a.spend(start)
      yield* TestClock.adjust(10_000)
      assert.strictEqual(yield* a.exhaust(start), 20)
      for (let i = 0; i < 10; i++) yield* b.spend(start)
      state.isAway = false
      yield* TestClock.adjust(2_000)
      assert.strictEqual((yield* Effect.flip(b.spend(start)))._tag, "rate_limited")
    })
  )

  it.effect("enforce limits with local counts if storage responds too slowly", () =>
    Effect.gen(function* () {
      const { state, service } = yield* shared
      const a = yield* host(service)
      state.delay_ms = 5_000
      const first = yield* Effect.forkChild(a.spend(start))
      yield* TestClock.adjust(249)
      assert.isUndefined(first.pollUnsafe())
      yield* TestClock.adjust(1)
      yield* Fiber.join(first)
      assert.strictEqual(yield* a.exhaust(start), 59)
      yield* TestClock.adjust(20_000)
      assert.strictEqual(
        state.tallied.flat().reduce((sum, { added }) => sum + added, 0),
        120
      )
    })
  )

  it.effect("pass their call counts on to a new host when they stop", () =>
    Effect.gen(function* () {
      const { service } = yield* shared
      const a = yield* host(service)
      for (let i = 0; i < 45; i++) yield* a.spend(start)
      yield* a.stop
      const b = yield* host(service)
      assert.strictEqual(yield* b.exhaust(start), 15)
    })
  )

  it.effect("admit at most twice the limit if their clocks differ by half a minute", () =>
    Effect.gen(function* () {
      const { service } = yield* shared
      const [a, fast] = [yield* host(service), yield* host(service, { ahead_ms: 30_000 })]
      yield* TestClock.adjust(40_000)
      // The fast host is already in the next minute.
      assert.strictEqual(yield* fast.exhaust(start), 60)
      assert.strictEqual(yield* a.exhaust(start), 60)
      yield* reconciled
      assert.strictEqual((yield* Effect.flip(a.spend(start)))._tag, "rate_limited")
      // The minute begins for the other host, and already contains the fast host's calls.
      yield* TestClock.adjust(20_000)
      assert.strictEqual((yield* Effect.flip(a.spend(start)))._tag, "rate_limited")
      yield* TestClock.adjust(30_000)
      assert.strictEqual(yield* fast.exhaust(start), 60)
    })
  )
})
