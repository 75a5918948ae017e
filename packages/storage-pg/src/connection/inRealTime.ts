import { Clock, Effect } from "effect"

/** Runs an effect by the real clock, even under a test clock, which a database does not follow. */
export const inRealTime = Effect.provideService(Clock.Clock, Clock.Clock.defaultValue())
