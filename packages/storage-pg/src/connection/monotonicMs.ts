import type { Clock } from "effect"

/** The milliseconds of a monotonic clock. */
export const monotonicMs = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
