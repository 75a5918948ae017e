import { Clock, Effect } from "effect"

/** A clock's monotonic time in milliseconds. */
export const millisOf = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe()) / 1e6

/** Monotonic time in milliseconds, for measuring durations: it does not jump when the machine's wall clock is set. */
export const millis: Effect.Effect<number> = Effect.map(Clock.Clock, millisOf)

/** How much time has passed since `beganMs` in the clock's monotonic time, in whole milliseconds. */
export const sinceOf = (clock: Clock.Clock, beganMs: number): number => Math.round(millisOf(clock) - beganMs)

/** How much time has passed since `beganMs` in monotonic time, in whole milliseconds. */
export const since = (beganMs: number): Effect.Effect<number> =>
  Effect.map(Clock.Clock, (clock) => sinceOf(clock, beganMs))
