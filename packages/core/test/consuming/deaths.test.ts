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

describe("an event whose handler kills the process", () => {
  test(
    "is parked after max_attempts crashes, and later events are handled",
    Effect.gen(function* () {
      const handled: Array<Handled> = []
      yield* organization(1)
      yield* emit(2, range(1, 5))
      for (const name of range(1, 12)) {
        const one = yield* host(`${name}`, handled)
        yield* one.consume(
          "billing",
          ({ id }) => (id.endsWith("4") ? Effect.andThen(Effect.sync(one.kill), Effect.never) : Effect.void),
          { from: "oldest", max_attempts: 3, lease_ms: 1_000 }
        )
        yield* pass(2_000)
      }
      assert.deepStrictEqual(places(handled), [1, 2, 3, 4, 1, 2, 3, 4, 4, 4, 5])
      const last = yield* host("last", handled)
      const parked = yield* last.consumers.listParked("billing")
      assert.deepStrictEqual(
        parked.map(({ error }) => error),
        ["process_ended"]
      )
    })
  )

  // Each workspace has its own consumer, and one process handles several concurrently: which of them killed it?
  for (const [what, layout] of [
    ["one event in one of five workspaces", [[2], [], [], [], []]],
    ["the last event of a workspace", [[5], [], []]],
    ["two events in one workspace", [[1, 4], [], [], []]],
    ["two events in two workspaces", [[3], [], [2], []]],
    ["the very first event", [[1], [1], [1]]]
  ] as const) {
    test(
      `is parked alone, without the events that were handled concurrently: ${what}`,
      Effect.gen(function* () {
        const handled: Array<Handled> = []
        const all: Array<number> = []
        const culprits: Array<number> = []
        for (const [index, deadly] of layout.entries()) {
          yield* organization(index + 1)
          const own = range(1, 5).map((nth) => 100 * (index + 1) + nth)
          yield* emit(2 * (index + 1), own)
          all.push(...own)
          culprits.push(...deadly.map((nth) => 100 * (index + 1) + nth))
        }
        const done: Array<number> = []
        let running = 0
        let most = 0
        const begin = Effect.fnUntraced(function* (name: string) {
          const one = yield* host(name, handled)
          running = 0
          yield* one.consume(
            "billing",
            Effect.fnUntraced(function* (event) {
              most = Math.max(most, ++running)
              // The culprit kills the process while the others are running.
              const isCulprit = culprits.includes(placeOf(event))
              yield* Effect.sleep(isCulprit ? 1_500 : 3_000)
              if (isCulprit) one.kill()
              if (one.isDead()) return yield* Effect.never
              running--
              done.push(placeOf(event))
            }),
            { from: "oldest", max_attempts: 3, lease_ms: 1_000 }
          )
          return one
        })
        let one = yield* begin("0")
        for (let second = 0; second < 300; second++) {
          yield* pass(1_000)
          if (one.isDead()) one = yield* begin(`${second}`)
        }
        const parked = yield* one.consumers.listParked("billing")
        assert.sameMembers(
          parked.map(({ error, event }) => `${placeOf(event)} ${error}`),
          culprits.map((place) => `${place} process_ended`)
        )
        assert.sameMembers(
          [...new Set(done)],
          all.filter((place) => !culprits.includes(place))
        )
        // After that, handlers run side by side again.
        most = 0
        for (const index of layout.keys()) yield* emit(2 * (index + 1), [100 * (index + 1) + 9])
        yield* pass(60_000)
        assert.isAbove(most, 1)
      })
    )
  }

  test(
    "is parked again if a retry kills the process, and no other event loses an attempt",
    Effect.gen(function* () {
      const handled: Array<Handled> = []
      const beside: Array<number> = []
      yield* organization(1)
      yield* organization(2)
      yield* emit(2, [1])
      let one = yield* host("0", handled)
      let running = 0
      // Starts a process whose consumer dies with event 1.
      const begin = Effect.fnUntraced(function* (name: string) {
        one = yield* host(name, handled)
        running = 0
        const process = one
        yield* process.consume(
          "billing",
          Effect.fnUntraced(function* (event, { attempt }) {
            running++
            if (placeOf(event) === 1) {
              beside.push(running - 1)
              process.kill()
              return yield* Effect.never
            }
            yield* Effect.sleep(300)
            running--
            // Each of these events needs both of its attempts.
            return yield* attempt === 1 ? Effect.fail("the first attempt") : Effect.void
          }),
          { from: "oldest", max_attempts: 2, lease_ms: 1_000, backoff_ms: 1_000 }
        )
      })
      // Lets time pass, and replaces a process that died.
      const seconds = Effect.fnUntraced(function* (count: number) {
        for (let second = 0; second < count; second++) {
          yield* pass(1_000)
          if (one.isDead()) yield* begin(`${second}`)
        }
      })
      const parked = () => one.consumers.listParked("billing")
      // The event that kills processes is parked.
      yield* begin("first")
      yield* seconds(20)
      assert.deepStrictEqual(
        (yield* parked()).map(({ attempts, error }) => [attempts, error]),
        [[2, "process_ended"]]
      )
      const deaths = places(handled).filter((place) => place === 1).length
      // Each retry kills one process, and parks only this event again.
      for (const retry of [1, 2]) {
        yield* emit(2, [10 * retry, 10 * retry + 1])
        yield* emit(4, [10 * retry + 2, 10 * retry + 3])
        const event_id = eventId(1)
        yield* one.consumers.retryParked("billing", {
          organization_id: organizationId(1),
          environment: "sandbox",
          event_id
        })
        yield* seconds(30)
        assert.deepStrictEqual(
          (yield* parked()).map(({ attempts, error, retrying }) => [attempts, error, retrying]),
          [[2 + retry, "process_ended", false]]
        )
        assert.strictEqual(places(handled).filter((place) => place === 1).length, deaths + retry)
      }
      assert.deepStrictEqual(beside.slice(deaths), [0, 0])
    })
  )

  test(
    "is never confused with an event that had not started when the process died",
    Effect.gen(function* () {
      const handled: Array<Handled> = []
      const options = { max_attempts: 1, lease_ms: 1_000 } as const
      yield* organization(1)
      const one = yield* host("one", handled)
      const { ready } = yield* one.consume("billing", undefined, options)
      yield* ready
      yield* emit(2, [1])
      yield* pass(500)
      // This process has nothing to do, and still holds the workspace.
      one.kill()
      yield* emit(2, [2, 3])
      const other = yield* host("other", handled)
      yield* other.consume("billing", undefined, options)
      yield* pass(3_000)
      assert.includeMembers(places(handled), [2, 3])
      assert.deepStrictEqual(yield* other.consumers.listParked("billing"), [])
    })
  )

  test(
    "is parked with max_attempts: 1 after it has killed two processes",
    Effect.gen(function* () {
      const handled: Array<Handled> = []
      yield* organization(1)
      yield* emit(2, range(1, 3))
      for (const name of range(1, 4)) {
        const one = yield* host(`${name}`, handled)
        yield* one.consume(
          "billing",
          ({ id }) => (id.endsWith("1") ? Effect.andThen(Effect.sync(one.kill), Effect.never) : Effect.void),
          { from: "oldest", max_attempts: 1, lease_ms: 1_000 }
        )
        yield* pass(2_000)
      }
      assert.deepStrictEqual(places(handled), [1, 1, 2, 3])
      const last = yield* host("last", handled)
      const parked = yield* last.consumers.listParked("billing")
      assert.deepStrictEqual(
        parked.map(({ attempts, error }) => [attempts, error]),
        [[2, "process_ended"]]
      )
    })
  )
})
