import { Clock, Effect, FiberSet, type Scope } from "effect"
import { monotonicMs } from "./monotonicMs.ts"

/** Something that has to end in time. */
export interface Deadline {
  readonly ends_ms: number
  readonly expire: () => void
}

/** What must not take longer than a while: one fiber looks after all of it. */
export interface Deadlines {
  /** From now on; `expire`, which must not throw, is called unless the deadline is kept before. */
  readonly begin: (expire: () => void) => Deadline
  readonly keep: (deadline: Deadline) => void
}

/** Gives everything the same time, so that what began first is due first. */
export const make = Effect.fnUntraced(function* (after_ms: number): Effect.fn.Return<Deadlines, never, Scope.Scope> {
  const clock = yield* Clock.Clock
  const run = yield* FiberSet.makeRuntime()
  const now_ms = () => monotonicMs(clock)
  const open = new Set<Deadline>()
  let isWatched = false

  const watch = Effect.gen(function* () {
    for (let first = firstOf(open); first !== undefined; first = firstOf(open)) {
      const left_ms = first.ends_ms - now_ms()
      if (left_ms > 0) yield* Effect.sleep(left_ms)
      else {
        open.delete(first)
        first.expire()
      }
    }
    // In the same breath as the last look: what begins from now on is watched by another.
    isWatched = false
  })

  return {
    begin: (expire) => {
      const deadline = { ends_ms: now_ms() + after_ms, expire }
      open.add(deadline)
      if (!isWatched) {
        isWatched = true
        run(watch)
      }
      return deadline
    },
    keep: (deadline) => {
      open.delete(deadline)
    }
  }
})

const firstOf = (open: ReadonlySet<Deadline>): Deadline | undefined => open.values().next().value
