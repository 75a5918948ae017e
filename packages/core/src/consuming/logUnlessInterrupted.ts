import { Cause, Effect } from "effect"

/** Logs why a consumer's fiber has failed, and succeeds. An interruption, with which it is stopped, stays one. */
export const logUnlessInterrupted = (
  message: string,
  cause: Cause.Cause<unknown>,
  consumer: string
): Effect.Effect<void> =>
  Cause.hasInterruptsOnly(cause)
    ? Effect.interrupt
    : Effect.annotateLogs(Effect.logWarning(message, cause), { consumer })
