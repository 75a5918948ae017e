import { Context, type Effect } from "effect"

/** The slot of a running job. A runner has a limited number of slots, so a job frees its slot during outside calls. */
export const Slot = Context.Reference<{
  /** Makes an outside call without holding a slot, so that a slow carrier delays no other work. */
  readonly yieldDuring: <A, E, R>(call: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}>("@quotewire/core/Slot", { defaultValue: () => ({ yieldDuring: (call) => call }) })
