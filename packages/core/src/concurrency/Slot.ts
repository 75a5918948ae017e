import { Context, type Effect } from "effect"

/** The slot of a running job. A runner has a limited number, so a job gives up its slot while it waits for the outside. */
export const Slot = Context.Reference<{
  /** Runs a call to the outside without holding a slot, so that a slow carrier delays no other work. */
  readonly yieldDuring: <A, E, R>(call: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}>("@quotewire/core/Slot", { defaultValue: () => ({ yieldDuring: (call) => call }) })
