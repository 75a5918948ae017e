import { assert, describe } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { Storage } from "../../src/storage/Storage.ts"
import { pass } from "../support/world.ts"
import {
  emit,
  type Handled,
  host,
  organization,
  organizationId,
  placeOf,
  places,
  range,
  test,
  workspaceId
} from "./support.ts"

describe("a consumer", () => {
  test(
    "receives the events that occur after it is ready, in order, but no earlier events",
    Effect.gen(function* () {
      const handled: Array<Handled> = []
      yield* organization(1)
      yield* emit(2, range(1, 5))
      const one = yield* host("one", handled)
      const { ready } = yield* one.consume()
      yield* ready
      yield* emit(2, range(6, 500))
      yield* pass(0)
      assert.deepStrictEqual(places(handled), range(6, 500))
    })
  )

  test(
    "starts at the end of the feed, however long the feed is",
    Effect.gen(function* () {
      for (const length of [...range(0, 20), 63, 64, 65, 1_000]) {
        const handled: Array<Handled> = []
        const organizationPlace = length + 1
        yield* organization(organizationPlace)
        if (length > 0) yield* emit(2 * organizationPlace, range(1, length))
        const one = yield* host("one", handled)
        const { ready, stop } = yield* one.consume(`after-${length}`)
        yield* ready
        yield* emit(2 * organizationPlace, [length + 1])
        yield* pass(0)
        yield* stop
        assert.deepStrictEqual(places(handled), [length + 1])
      }
    })
  )

  test(
    "receives every stored event if it starts at the oldest event, and resumes where it stopped",
    Effect.gen(function* () {
      const handled: Array<Handled> = []
      yield* organization(1)
      yield* emit(2, range(1, 5))
      const one = yield* host("one", handled)
      const { stop } = yield* one.consume("billing", undefined, { from: "oldest" })
      yield* pass(0)
      yield* stop
      assert.deepStrictEqual(places(handled), range(1, 5))
      yield* emit(2, [6])
      yield* one.consume()
      yield* pass(0)
      assert.deepStrictEqual(places(handled), range(1, 6))
    })
  )

  test(
    "receives every event of a workspace that was created after the consumer started",
    Effect.gen(function* () {
      const handled: Array<Handled> = []
      const one = yield* host("one", handled)
      const { ready, stop } = yield* one.consume()
      yield* ready
      yield* pass(1)
      yield* organization(1)
      yield* emit(2, [1])
      yield* pass(0)
      yield* stop
      yield* organization(2)
      yield* emit(4, [2])
      yield* one.consume()
      yield* pass(0)
      assert.deepStrictEqual(places(handled), [1, 2])
    })
  )

  test(
    "handles several workspaces concurrently, but each workspace's events one at a time",
    Effect.gen(function* () {
      const handled: Array<Handled> = []
      for (const place of range(1, 4)) yield* organization(place)
      const one = yield* host("one", handled)
      const gate = yield* Deferred.make<void>()
      const { ready } = yield* one.consume("billing", () => Deferred.await(gate), { concurrency: 3 })
      yield* ready
      for (const place of range(1, 4)) yield* emit(2 * place, [10 * place, 10 * place + 1])
      yield* pass(0)
      assert.deepStrictEqual(places(handled), [10, 20, 30])
      yield* Deferred.succeed(gate, undefined)
      yield* pass(0)
      assert.sameMembers(places(handled), [10, 20, 30, 11, 21, 31, 40, 41])
    })
  )

  test(
    "handles only the events that its options select",
    Effect.gen(function* () {
      yield* organization(1)
      yield* organization(2)
      const took = new Map<string, Array<Handled>>()
      for (const [name, options] of [
        ["all", {}],
        ["live", { environment: "live" }],
        ["second", { organization_id: organizationId(2) }],
        ["expired", { types: ["quote.expired"] }]
      ] as const) {
        const handled: Array<Handled> = []
        took.set(name, handled)
        const one = yield* host("one", handled)
        const { ready } = yield* one.consume(name, undefined, options)
        yield* ready
      }
      yield* emit(2, [1])
      yield* emit(3, [2], { environment: "live" })
      yield* emit(4, [3], { type: "quote.expired" })
      yield* emit(5, [4], { environment: "live", type: "quote.expired" })
      yield* pass(0)
      const sorted = Object.fromEntries(Array.from(took, ([name, handled]) => [name, places(handled).toSorted()]))
      assert.deepStrictEqual(sorted, { all: [1, 2, 3, 4], live: [2, 4], second: [3, 4], expired: [3, 4] })
    })
  )

  test(
    "receives each event as it is in the feed, with the event's organization and environment",
    Effect.gen(function* () {
      const given: Array<unknown> = []
      yield* organization(1)
      const one = yield* host("one", [])
      const { ready } = yield* one.consume("billing", (event, context) => Effect.sync(() => given.push(event, context)))
      yield* ready
      yield* emit(3, [1], { environment: "live" })
      yield* pass(0)
      const { events } = yield* (yield* Storage).feed({ workspace_id: workspaceId(3), after: 0, limit: 1 })
      assert.deepStrictEqual(given, [
        JSON.parse(events[0]?.body ?? ""),
        { organization_id: organizationId(1), environment: "live", attempt: 1 }
      ])
    })
  )

  test(
    "finds new events even if no hint arrives",
    Effect.gen(function* () {
      const handled: Array<Handled> = []
      yield* organization(1)
      const storage = yield* Storage
      const one = yield* Effect.provideService(host("one", handled), Storage, { ...storage, watch: () => Effect.void })
      const { ready } = yield* one.consume()
      yield* ready
      yield* pass(0)
      yield* emit(2, [1])
      yield* pass(5_000)
      assert.deepStrictEqual(places(handled), [1])
    })
  )

  test(
    "continues when storage is available again",
    Effect.gen(function* () {
      const handled: Array<Handled> = []
      yield* organization(1)
      const one = yield* host("one", handled)
      one.strike("away")
      const { ready } = yield* one.consume()
      yield* pass(3_000)
      one.strike(null)
      yield* pass(1_000)
      yield* ready
      yield* emit(2, [1])
      yield* pass(0)
      one.strike("away")
      yield* emit(2, [2])
      yield* pass(3_000)
      one.strike(null)
      yield* pass(5_000)
      assert.deepStrictEqual(places(handled), [1, 2])
    })
  )
})

describe("a consumer that stops", () => {
  test(
    "finishes the current event, starts no other event, and stores its position",
    Effect.gen(function* () {
      const handled: Array<Handled> = []
      yield* organization(1)
      const one = yield* host("one", handled)
      const { ready, stop } = yield* one.consume("billing", () => Effect.sleep(1_000), { grace_ms: 1_000 })
      yield* ready
      yield* emit(2, range(1, 5))
      yield* pass(1_500)
      const stopping = yield* Effect.forkChild(stop)
      yield* pass(500)
      assert.isDefined(stopping.pollUnsafe())
      assert.deepStrictEqual(places(handled), [1, 2])
      yield* one.consume()
      yield* pass(0)
      assert.deepStrictEqual(places(handled), range(1, 5))
    })
  )

  test(
    "aborts its handler after the grace period, and does not count the attempt",
    Effect.gen(function* () {
      const handled: Array<Handled> = []
      let interrupted = 0
      yield* organization(1)
      const one = yield* host("one", handled)
      const hangs = Effect.onInterrupt(Effect.never, () => Effect.sync(() => void interrupted++))
      const { ready, stop } = yield* one.consume("billing", () => hangs, { grace_ms: 2_000 })
      yield* ready
      yield* emit(2, [1])
      yield* pass(0)
      const stopping = yield* Effect.forkChild(stop)
      yield* pass(1_999)
      assert.isUndefined(stopping.pollUnsafe())
      yield* pass(1)
      assert.isDefined(stopping.pollUnsafe())
      assert.strictEqual(interrupted, 1)
      yield* one.consume()
      yield* pass(0)
      assert.deepStrictEqual(handled, [
        { host: "one", place: 1, attempt: 1 },
        { host: "one", place: 1, attempt: 1 }
      ])
    })
  )

  test(
    "handles no events after its scope is closed",
    Effect.gen(function* () {
      const handled: Array<Handled> = []
      yield* organization(1)
      const one = yield* host("one", handled)
      yield* Effect.scoped(
        Effect.flatMap(
          one.consumers.consume("billing", (event) =>
            Effect.sync(() => handled.push({ host: "one", place: placeOf(event), attempt: 1 }))
          ),
          ({ ready }) => ready
        )
      )
      yield* emit(2, [1])
      yield* pass(10_000)
      assert.deepStrictEqual(handled, [])
    })
  )
})

describe("starting a consumer", () => {
  test(
    "fails if the consumer's name or an option is invalid",
    Effect.gen(function* () {
      const one = yield* host("one", [])
      const refusals = [
        [one.consume("Billing"), /consumer name must have 1 to 64 characters/],
        [one.consume(""), /consumer name/],
        [one.consume("billing", undefined, { timeout_ms: 0 }), /timeout_ms/],
        [one.consume("billing", undefined, { types: [] }), /types/]
      ] as const
      for (const [consume, message] of refusals) {
        const error = yield* Effect.flip(consume)
        assert.strictEqual(error._tag, "InvalidConsumer")
        assert.match(error.message, message)
      }
    })
  )

  test(
    "fails if the process already runs a consumer with that name",
    Effect.gen(function* () {
      const one = yield* host("one", [])
      const { stop } = yield* one.consume()
      assert.match((yield* Effect.flip(one.consume())).message, /already has a consumer named billing/)
      yield* one.consume("other")
      yield* stop
      yield* one.consume()
    })
  )
})
