import { assert, describe, it } from "@effect/vitest"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect, Layer } from "effect"
import fc from "fast-check"
import { pass } from "../support/world.ts"
import { emit, type Fault, type Host, host, organization, placeOf, range } from "./support.ts"

/** The workspaces of the histories. The thousands of an event's place identify its workspace. */
const workspaces = [2, 3, 4] as const

const place = fc.integer({ min: 0, max: 1 })
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ emits: fc.integer({ min: 1, max: 12 }), into: fc.constantFrom(...workspaces) }) },
  { weight: 4, arbitrary: fc.record({ passes_ms: fc.oneof(fc.integer({ min: 1, max: 3_000 }), fc.constant(40_000)) }) },
  fc.record({ kills: place }),
  fc.record({ stops: place }),
  fc.record({ strikes: place, fault: fc.constantFrom<Array<Fault | null>>("away", "unanswered", "slow", null) })
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

/** Plays a history with two processes. Every third event fails at first, and every event takes some time. */
const play = Effect.fnUntraced(function* (steps: ReadonlyArray<Step>) {
  yield* organization(1)
  yield* organization(2)
  const emitted = new Map(workspaces.map((workspace) => [workspace, 0]))
  const handled: Array<number> = []
  const running = new Map<number, string>()

  const begin = Effect.fnUntraced(function* (name: string) {
    const one: Host = yield* host(name, [])
    yield* one.consume(
      "billing",
      Effect.fnUntraced(function* (event, { attempt }) {
        const workspace = Math.floor(placeOf(event) / 1_000)
        assert.notStrictEqual(running.get(workspace), name, "a process handles one event of a workspace at a time")
        running.set(workspace, name)
        yield* Effect.ensuring(
          Effect.sleep(20 * (placeOf(event) % 7)),
          Effect.sync(() => running.delete(workspace))
        )
        if (one.isDead()) return yield* Effect.never
        if (placeOf(event) % 3 === 0 && attempt === 1) return yield* Effect.fail("at first")
        handled.push(placeOf(event))
      }),
      { from: "oldest", max_attempts: 1_000, max_backoff_ms: 2_000, lease_ms: 5_000 }
    )
    return one
  })

  const hosts = [yield* begin("0"), yield* begin("1")]
  for (const [turn, next] of steps.entries()) {
    if ("emits" in next) {
      const before = emitted.get(next.into) ?? 0
      emitted.set(next.into, before + next.emits)
      const environment = next.into % 2 === 0 ? "sandbox" : "live"
      yield* emit(next.into, range(1_000 * next.into + before + 1, 1_000 * next.into + before + next.emits), {
        environment
      })
    }
    if ("passes_ms" in next) yield* pass(next.passes_ms)
    if ("kills" in next) {
      hosts[next.kills]?.kill()
      hosts[next.kills] = yield* begin(`${turn}`)
    }
    if ("stops" in next) {
      // Closing may take as long as storage takes.
      const closing = yield* Effect.forkChild(hosts[next.stops]?.close ?? Effect.void)
      yield* pass(30_000)
      assert.isDefined(closing.pollUnsafe())
      hosts[next.stops] = yield* begin(`${turn}`)
    }
    if ("strikes" in next) hosts[next.strikes]?.strike(next.fault)
  }
  for (const one of hosts) one.strike(null)
  yield* pass(300_000)
  for (const workspace of workspaces) {
    const own = handled.filter((place) => Math.floor(place / 1_000) === workspace)
    const all = range(1, emitted.get(workspace) ?? 0).map((place) => 1_000 * workspace + place)
    assert.deepStrictEqual([...new Set(own)], all, "each event, and the first times in order")
  }
  return handled.length
})

describe("random deaths, stops and storage outages", () => {
  it.effect("lose no event, and do not change the order in which a workspace's events are first handled", () =>
    Effect.gen(function* () {
      const histories = fc.sample(fc.array(step, { minLength: 5, maxLength: 25 }), { numRuns: 60, seed: 7 })
      let handled = 0
      for (const history of histories) {
        handled += yield* play(history).pipe(Effect.scoped, Effect.provide(Layer.fresh(MemoryStorage.layer)))
      }
      assert.isAbove(handled, 500)
    })
  )
})
