import { Clock, Effect } from "effect"

/** A clock that is off by a constant amount. */
export const off = (byMs: number): Clock.Clock => {
  const right = Clock.Clock.defaultValue()
  return {
    currentTimeMillisUnsafe: () => right.currentTimeMillisUnsafe() + byMs,
    currentTimeMillis: Effect.map(right.currentTimeMillis, (now) => now + byMs),
    currentTimeNanosUnsafe: () => right.currentTimeNanosUnsafe() + BigInt(byMs) * 1_000_000n,
    currentTimeNanos: Effect.map(right.currentTimeNanos, (now) => now + BigInt(byMs) * 1_000_000n),
    monotonicTimeNanosUnsafe: () => right.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: right.monotonicTimeNanos,
    sleep: (duration) => right.sleep(duration)
  }
}
