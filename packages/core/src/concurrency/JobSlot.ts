import { Context, type Effect } from "effect"

/**
 * The slot of a running job. A runner has a limited number of slots, so a job releases its slot while it calls another
 * system.
 */
export const JobSlot = Context.Reference<{
  /** Makes a call to another system without holding the slot, so that a slow carrier does not delay other work. */
  readonly yieldDuring: <A, E, R>(call: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}>("@quotewire/core/JobSlot", { defaultValue: () => ({ yieldDuring: (call) => call }) })
