import { Clock, Effect } from "effect"

/** The wire keeps real time, also where a test clock moves everything else. */
export const inRealTime = Effect.provideService(Clock.Clock, Clock.Clock.defaultValue())
