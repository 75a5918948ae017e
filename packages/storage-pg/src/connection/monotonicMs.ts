import type { Clock } from "effect"

/** The milliseconds of a clock that never goes back. */
export const monotonicMs = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
