import { type Clock, Duration, Effect } from "effect"

/** A clock that stands still, so that a test always sees the same times. Only the workspace's own clock moves. */
export interface StillClock {
  readonly clock: Clock.Clock
  /** The time that the clock always shows, in milliseconds. */
  readonly now: number
  /** The sum of all times given to `pass`, in milliseconds. */
  readonly passed: () => number
  /** Ends each sleep that has at most `ms` milliseconds left, and shortens the other sleeps by `ms`. */
  readonly pass: (ms: number) => void
}

interface Sleeper {
  readonly ends_at: number
  readonly wake: () => void
}

/**
 * Creates a clock that stands still at a time, in milliseconds.
 *
 * A sleep ends when its time has passed in real time or through `pass`, whichever is first. So a carrier that never
 * responds still times out.
 */
export const make = (now: number): StillClock => {
  let passedMs = 0
  const sleepers = new Set<Sleeper>()
  const millis = Effect.succeed(now)
  const nanos = BigInt(now) * nanosPerMs
  // Waiting code compares monotonic times, so the monotonic clock advances as sleeps do.
  const monotonic = () => BigInt(Math.floor(performance.now() + passedMs)) * nanosPerMs
  const sleep = (ms: number): Effect.Effect<void> =>
    Effect.callback((resume) => {
      const wake = () => {
        leave()
        resume(Effect.void)
      }
      const sleeper: Sleeper = { ends_at: passedMs + ms, wake }
      const timer = ms <= longestTimerMs ? setTimeout(wake, ms) : undefined
      const leave = () => {
        sleepers.delete(sleeper)
        clearTimeout(timer)
      }
      sleepers.add(sleeper)
      return Effect.sync(leave)
    })
  return {
    clock: {
      currentTimeMillisUnsafe: () => now,
      currentTimeMillis: millis,
      currentTimeNanosUnsafe: () => nanos,
      currentTimeNanos: Effect.succeed(nanos),
      monotonicTimeNanosUnsafe: monotonic,
      monotonicTimeNanos: Effect.sync(monotonic),
      sleep: (duration) => {
        const ms = Duration.toMillis(duration)
        return ms <= 0 ? Effect.yieldNow : sleep(ms)
      }
    },
    now,
    passed: () => passedMs,
    pass: (ms) => {
      passedMs += ms
      for (const { ends_at, wake } of [...sleepers]) if (ends_at <= passedMs) wake()
    }
  }
}

const nanosPerMs = 1_000_000n

/** The longest delay that `setTimeout` accepts, in milliseconds. */
const longestTimerMs = 2 ** 31 - 1
