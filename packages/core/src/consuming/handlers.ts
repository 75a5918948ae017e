import { Effect } from "effect"
import type { Event } from "../events/Event.ts"
import type { EffectEventHandler, EventContext, EventHandler } from "./ConsumeOptions.ts"

/**
 * A handler with promises as one with Effects.
 *
 * An interruption aborts the signal, and ends when the promise has settled. So a handler that ignores its signal is known to
 * be running.
 */
export const fromPromise =
  (handler: EventHandler): EffectEventHandler =>
  (event, context) =>
    Effect.callback<void, unknown>((resume, signal) => {
      const settled = settle(handler, event, { ...context, signal })
      void settled.then(resume)
      return Effect.asVoid(Effect.promise(() => settled))
    })

const settle = async (
  handler: EventHandler,
  event: Event,
  context: EventContext & { readonly signal: AbortSignal }
): Promise<Effect.Effect<void, unknown>> => {
  try {
    await handler(event, context)
    return Effect.void
  } catch (error) {
    return Effect.fail(error)
  }
}
