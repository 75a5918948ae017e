import { Clock, Effect } from "effect"

/** Runs by the real clock, even under a test clock: the database does not wait for that. */
export const inRealTime = Effect.provideService(Clock.Clock, Clock.Clock.defaultValue())
