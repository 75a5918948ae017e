import { Effect, Result } from "effect"
import type { Event } from "../events/Event.ts"
import {
  alreadyConsumed,
  type ConsumeOptions,
  type EffectEventHandler,
  type EventContext,
  type EventHandler,
  settingsOf
} from "./ConsumeOptions.ts"
import type { Consumption } from "./Consumers.ts"

/**
 * Stops a consumer when called. Resolves once the running handlers have ended or the grace period is over, and the
 * positions are stored.
 */
export interface StopConsuming {
  (): Promise<void>
  /**
   * Resolves once the consumer has a position in every feed. From then on, it misses no event. Rejects if the consumer
   * cannot start.
   */
  readonly ready: Promise<void>
}

/**
 * Starts a consumer, for programs that use promises. Throws `InvalidConsumer` if the name, the handler or an option is
 * invalid, or if this process already has a consumer with this name.
 */
export type Consume = (name: string, handler: EventHandler, options?: ConsumeOptions) => StopConsuming

/** Makes `consume`, and a function that stops all consumers. `start` starts one consumer. */
export const makePromiseConsume = (
  start: (name: string, handler: EffectEventHandler, options: ConsumeOptions) => Promise<Consumption>
): { readonly consume: Consume; readonly stopAll: () => Promise<unknown> } => {
  const running = new Map<string, StopConsuming>()
  const consume: Consume = (name, handler, options = {}) => {
    Result.getOrThrow(settingsOf(name, handler, options))
    if (running.has(name)) throw alreadyConsumed(name)
    const started = start(name, fromPromise(handler), { ...options })
    const ready = started.then((consumption) => Effect.runPromise(consumption.ready))
    // A program that ignores `ready` still learns of a failed start when it calls other methods.
    ready.catch(() => {})
    const stopped = async () => {
      const consumption = await started.catch(() => null)
      if (consumption !== null) await Effect.runPromise(consumption.stop)
      leave()
    }
    // After a failed start, the name may already belong to a later consumer.
    const leave = () => running.get(name) === stop && running.delete(name)
    let stopping: Promise<void> | null = null
    const stop = Object.assign(() => (stopping ??= stopped()), { ready })
    running.set(name, stop)
    started.catch(leave)
    return stop
  }
  return { consume, stopAll: () => Promise.all([...running.values()].map((stop) => stop())) }
}

/**
 * Turns a handler that returns a promise into a handler that returns an Effect.
 *
 * Interrupting the Effect aborts the signal and then waits for the promise, so that a handler that ignores its signal
 * is still considered running.
 */
const fromPromise =
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
