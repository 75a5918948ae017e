import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { pass } from "../support/world.ts"
import {
  emit,
  eventId,
  type Handled,
  host,
  organization,
  organizationId,
  placeOf,
  places,
  range,
  test
} from "./support.ts"

class Refused extends Error {
  override readonly name = "Refused"
}

/** A handler that fails for the events at these places. */
const failing = (fails: ReadonlySet<number>) => (event: Parameters<typeof placeOf>[0]) =>
  fails.has(placeOf(event)) ? Effect.fail(new Refused("4711")) : Effect.void

const place = (event: number) =>
  ({ organization_id: organizationId(1), environment: "sandbox", event_id: eventId(event) }) as const

describe("an event that fails", () => {
  test(
    "is retried after doubling pauses, while later events of its workspace wait",
    Effect.gen(function* () {
      const handled: Array<Handled & { readonly at: number }> = []
      const times: Array<number> = []
      yield* organization(1)
      const all: Array<Handled> = []
      const one = yield* host("one", all)
      let now = 0
      const { ready } = yield* one.consume(
        "billing",
        (event, { attempt }) => {
          times.push(now)
          handled.push({ host: "one", place: placeOf(event), attempt, at: now })
          return placeOf(event) === 1 && attempt < 6 ? Effect.die("no") : Effect.void
        },
        { backoff_ms: 1_000, max_backoff_ms: 5_000 }
      )
      yield* ready
      yield* emit(2, [1, 2])
      yield* emit(3, [3], { environment: "live" })
      yield* pass(0)
      for (; now < 20_000; ) {
        now += 1_000
        yield* pass(1_000)
      }
      assert.deepStrictEqual(
        handled.filter(({ place }) => place !== 3).map(({ at, attempt, place }) => [place, attempt, at]),
        [
          [1, 1, 0],
          [1, 2, 1_000],
          [1, 3, 3_000],
          [1, 4, 7_000],
          [1, 5, 12_000],
          [1, 6, 17_000],
          [2, 1, 17_000]
        ]
      )
      assert.deepStrictEqual(handled.find(({ place }) => place === 3)?.at, 0)
    })
  )

  test(
    "is parked after max_attempts failures, and later events continue",
    Effect.gen(function* () {
      const handled: Array<Handled> = []
      yield* organization(1)
      const one = yield* host("one", handled)
      const { ready } = yield* one.consume("billing", failing(new Set([2])), { max_attempts: 3 })
      yield* ready
      yield* emit(2, range(1, 4))
      yield* pass(60_000)
      assert.deepStrictEqual(places(handled), [1, 2, 2, 2, 3, 4])
      const [parked, ...others] = yield* one.consumers.listParked("billing")
      assert.deepStrictEqual(others, [])
      assert.deepInclude(parked, { ...place(2), attempts: 3, error: "Refused", retrying: false })
      assert.deepStrictEqual(parked?.event.id, eventId(2))
      assert.deepStrictEqual(yield* one.consumers.listParked("other"), [])
      assert.deepStrictEqual(yield* one.consumers.listParked("billing", { environment: "live" }), [])
      assert.deepStrictEqual(yield* one.consumers.listParked("billing", { organization_id: organizationId(2) }), [])
    })
  )

  test(
    "can be retried from any process, and stays parked if it fails again",
    Effect.gen(function* () {
      const handled: Array<Handled> = []
      const fails = new Set([1, 2])
      yield* organization(1)
      const one = yield* host("one", handled)
      const { consumers } = yield* host("other", [])
      const { ready } = yield* one.consume("billing", failing(fails), { max_attempts: 1 })
      yield* ready
      yield* emit(2, range(1, 3))
      yield* pass(2_000)
      assert.lengthOf(yield* consumers.listParked("billing"), 2)
      yield* consumers.retryParked("billing", place(1))
      yield* pass(2_000)
      assert.deepInclude((yield* consumers.listParked("billing"))[0], { ...place(1), attempts: 2, retrying: false })
      fails.clear()
      yield* consumers.retryParked("billing", place(1))
      yield* pass(2_000)
      assert.deepStrictEqual(
        handled.filter(({ place }) => place === 1).map(({ attempt }) => attempt),
        [1, 2, 3]
      )
      assert.deepStrictEqual(
        (yield* consumers.listParked("billing")).map(({ event_id }) => event_id),
        [eventId(2)]
      )
      yield* emit(2, [4])
      yield* pass(0)
      assert.deepStrictEqual(places(handled).at(-1), 4)
    })
  )

  test(
    "can be marked for a retry while no consumer runs, and is retried once a consumer runs",
    Effect.gen(function* () {
      const handled: Array<Handled> = []
      yield* organization(1)
      const one = yield* host("one", [])
      const { ready, stop } = yield* one.consume("billing", failing(new Set([1])), { max_attempts: 1 })
      yield* ready
      yield* emit(2, [1])
      yield* pass(0)
      yield* stop
      yield* one.consumers.retryParked("billing", place(1))
      assert.deepInclude((yield* one.consumers.listParked("billing"))[0], { retrying: true })
      const other = yield* host("other", handled)
      yield* other.consume()
      yield* pass(0)
      assert.deepStrictEqual(handled, [{ host: "other", place: 1, attempt: 2 }])
      assert.deepStrictEqual(yield* other.consumers.listParked("billing"), [])
    })
  )

  test(
    "can be dropped while it is parked, but not a second time",
    Effect.gen(function* () {
      yield* organization(1)
      const one = yield* host("one", [])
      const { ready } = yield* one.consume("billing", failing(new Set([1])), { max_attempts: 1 })
      yield* ready
      yield* emit(2, [1, 2])
      yield* pass(2_000)
      yield* one.consumers.dropParked("billing", place(1))
      assert.deepStrictEqual(yield* one.consumers.listParked("billing"), [])
      const calls = [
        one.consumers.retryParked("billing", place(1)),
        one.consumers.dropParked("billing", place(1)),
        one.consumers.retryParked("billing", place(2)),
        one.consumers.dropParked("other", place(1)),
        one.consumers.dropParked("billing", { ...place(1), organization_id: organizationId(7) })
      ]
      for (const call of calls) assert.strictEqual((yield* Effect.flip(call))._tag, "not_found")
    })
  )
})

describe("a handler that hangs", () => {
  test(
    "is aborted after timeout_ms, and the attempt counts as failed",
    Effect.gen(function* () {
      const handled: Array<Handled> = []
      yield* organization(1)
      const one = yield* host("one", handled)
      const { ready } = yield* one.consume(
        "billing",
        (event, { attempt }) => (placeOf(event) === 1 && attempt < 3 ? Effect.never : Effect.void),
        {
          timeout_ms: 90_000
        }
      )
      yield* ready
      yield* emit(2, [1, 2])
      yield* pass(89_999)
      assert.deepStrictEqual(places(handled), [1])
      yield* pass(2 * 90_000 + 5_000)
      assert.deepStrictEqual(
        handled.map(({ attempt, place }) => [place, attempt]),
        [
          [1, 1],
          [1, 2],
          [1, 3],
          [2, 1]
        ]
      )
    })
  )

  test(
    "is not called again before it returns, even if it ignores the abort signal",
    Effect.gen(function* () {
      const handled: Array<Handled> = []
      yield* organization(1)
      const one = yield* host("one", handled)
      const deaf = Effect.uninterruptible(Effect.sleep(3_600_000))
      const { ready } = yield* one.consume("billing", () => deaf, { timeout_ms: 1_000, max_attempts: 1 })
      yield* ready
      yield* emit(2, [1, 2])
      yield* pass(600_000)
      assert.deepStrictEqual(places(handled), [1])
      const other = yield* host("other", handled)
      yield* other.consume()
      yield* pass(0)
      assert.deepStrictEqual(
        handled.map(({ host, place }) => [host, place]),
        [
          ["one", 1],
          ["other", 2]
        ]
      )
    })
  )
})
