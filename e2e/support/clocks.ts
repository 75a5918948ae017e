import { Clock, Effect } from "effect"

/** A clock that is off by a constant amount. */
export const off = (by_ms: number): Clock.Clock => {
  const right = Clock.Clock.defaultValue()
  return {
    currentTimeMillisUnsafe: () => right.currentTimeMillisUnsafe() + by_ms,
    currentTimeMillis: Effect.map(right.currentTimeMillis, (now) => now + by_ms),
    currentTimeNanosUnsafe: () => right.currentTimeNanosUnsafe() + BigInt(by_ms) * 1_000_000n,
    currentTimeNanos: Effect.map(right.currentTimeNanos, (now) => now + BigInt(by_ms) * 1_000_000n),
    monotonicTimeNanosUnsafe: () => right.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: right.monotonicTimeNanos,
    sleep: (duration) => right.sleep(duration)
  }
}
