import { type Clock, Duration, Effect } from "effect"

/**
 * A clock that stands still while a test runs, so that the same test always sees the same times.
 *
 * Only a sleep moves it: when one of n milliseconds is over, which takes as long as it says, at least n milliseconds have
 * passed. So whatever waits for a time still ends.
 */
export const make = (start_ms: number): Clock.Clock => {
  let now_ms = start_ms
  const now = () => now_ms
  const nanos = () => BigInt(now_ms) * nanos_per_ms
  return {
    currentTimeMillisUnsafe: now,
    currentTimeMillis: Effect.sync(now),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: nanos,
    monotonicTimeNanos: Effect.sync(nanos),
    sleep: (duration) => {
      const ends_at = now_ms + Duration.toMillis(duration)
      return Effect.andThen(
        passing(Duration.toMillis(duration)),
        Effect.sync(() => {
          now_ms = Math.max(now_ms, ends_at)
        })
      )
    }
  }
}

const nanos_per_ms = 1_000_000n

/** The longest time that a timer of the platform can have, in milliseconds. */
const longest_timer_ms = 2 ** 31 - 1

const passing = (ms: number): Effect.Effect<void> => {
  if (ms <= 0) return Effect.yieldNow
  if (ms === Number.POSITIVE_INFINITY) return Effect.never
  if (ms > longest_timer_ms) return Effect.andThen(passing(longest_timer_ms), passing(ms - longest_timer_ms))
  return Effect.callback<void>((resume) => {
    const timer = setTimeout(() => resume(Effect.void), ms)
    return Effect.sync(() => clearTimeout(timer))
  })
}
