import { Context, type Effect } from "effect"

/** The slot of a running job: a runner has so many, and a job that waits for the world outside gives its own up meanwhile. */
export const Slot = Context.Reference<{
  /** Runs a call to the world outside without holding a slot, so that a slow carrier delays no other work. */
  readonly release: <A, E, R>(call: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}>("@quotewire/core/Slot", { defaultValue: () => ({ release: (call) => call }) })
