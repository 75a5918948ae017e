import { Clock, type Duration, Effect } from "effect"

/** A machine's clock that can be moved: each part is off by this many milliseconds. */
export interface MovableClock extends Clock.Clock {
  wall_ms: number
  monotonic_ms: number
}

/** Creates a clock that is right until it is moved. */
export const movableClock = (): MovableClock => {
  const right = Clock.Clock.defaultValue()
  const own = { wall_ms: 0, monotonic_ms: 0 }
  const millis = () => right.currentTimeMillisUnsafe() + own.wall_ms
  const nanos = () => BigInt(millis()) * 1_000_000n
  const monotonic = () => right.monotonicTimeNanosUnsafe() + BigInt(own.monotonic_ms) * 1_000_000n
  return Object.assign(own, {
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: monotonic,
    monotonicTimeNanos: Effect.sync(monotonic),
    sleep: (duration: Duration.Duration) => right.sleep(duration)
  })
}

/** A clock that is off by a constant amount. */
export const off = (byMs: number): Clock.Clock => Object.assign(movableClock(), { wall_ms: byMs })
