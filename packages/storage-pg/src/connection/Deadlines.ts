import { Clock, Effect, FiberSet, type Scope } from "effect"
import { monotonicMs } from "./monotonicMs.ts"

/** The deadline of one piece of work. */
export interface Deadline {
  readonly ends_ms: number
  readonly expire: () => void
}

/** Deadlines of many concurrent tasks, watched by one fiber, which is cheaper than a fiber and a timer for each statement. */
export interface Deadlines {
  /** Starts a deadline. When it is over, `expire` is called. `expire` must not throw. */
  readonly begin: (expire: () => void) => Deadline
  /** Ends a deadline, because the work ended in time. */
  readonly end: (deadline: Deadline) => void
}

/** Makes deadlines of equal length, so that the first to begin is the first to expire. */
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
    // Nothing runs between the last check and this line, so a deadline that begins from now on starts a new watch.
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
    end: (deadline) => {
      open.delete(deadline)
    }
  }
})

const firstOf = (open: ReadonlySet<Deadline>): Deadline | undefined => open.values().next().value
