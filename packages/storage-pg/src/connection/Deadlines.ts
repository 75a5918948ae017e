import { Clock, Effect, FiberSet, type Scope } from "effect"
import { monotonicMs } from "./monotonicMs.ts"

/** The deadline of one piece of work. */
export interface Deadline {
  readonly ends_ms: number
  readonly expire: () => void
}

/** Deadlines of much work at once, watched by a single fiber: a fiber and a timer for each statement would cost more. */
export interface Deadlines {
  /** Starts a deadline. When it is over, `expire` is called, which must not throw. */
  readonly begin: (expire: () => void) => Deadline
  /** Tells that the work has ended in time. */
  readonly keep: (deadline: Deadline) => void
}

/** Gives all work the same time, so that what began first is due first. */
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
    // Nothing runs between the last look and this: what begins from now on starts another watch.
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
