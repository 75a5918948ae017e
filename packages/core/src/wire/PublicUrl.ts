import { Context, Effect } from "effect"

/**
 * Tells the address under which callers reach the host, without a slash at its end: what stands in front of `/go/…`.
 *
 * A host may know its port only when it listens: who writes a link waits for this, since links stay as they are written.
 */
export const PublicUrl = Context.Reference<Effect.Effect<string>>("@quotewire/core/PublicUrl", {
  defaultValue: () => Effect.succeed("http://127.0.0.1:8787")
})
