import { Clock, Context, Effect } from "effect"

/** The clock that database connections use. Tests that simulate a database provide their own. */
export const RealClock = Context.Reference<Clock.Clock>("@quotewire/storage-pg/RealClock", {
  defaultValue: () => Clock.Clock.defaultValue()
})

/** Runs an effect with the real clock, even under a test clock, because databases do not follow test clocks. */
export const inRealTime = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  RealClock.use((clock) => Effect.provideService(effect, Clock.Clock, clock))
