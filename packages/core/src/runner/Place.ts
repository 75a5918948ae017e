import { Context, type Effect } from "effect"

/** A job's place among those that a runner does side by side. */
export const Place = Context.Reference<{
  /** Waits for the world outside without taking a place: a slow carrier holds no other work up. */
  readonly away: <A, E, R>(call: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}>("@quotewire/core/Place", { defaultValue: () => ({ away: (call) => call }) })
