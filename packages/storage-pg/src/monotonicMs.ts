import type { Clock } from "effect"

/** Milliseconds of a clock that never goes back, from some moment on. */
export const monotonicMs = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
