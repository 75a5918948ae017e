import { Context, Effect, Layer, Result } from "effect"
import * as HttpAddress from "./HttpAddress.ts"

/**
 * Tells the address under which callers reach the host, without a slash at its end: what stands in front of `/go/…`.
 *
 * A host may know its port only when it listens: who writes a link waits for this, since links stay as they are written.
 * Provide it with `layer`, which checks the address.
 */
export const PublicUrl = Context.Reference<Effect.Effect<string>>("@quotewire/core/PublicUrl", {
  defaultValue: () => Effect.succeed("http://127.0.0.1:8787")
})

/** Provides an address that is known from the start; it fails with the rule that the address breaks. */
export const layer = (address: string): Layer.Layer<never, Error> =>
  Layer.effect(
    PublicUrl,
    Result.match(HttpAddress.readBase(address), {
      onSuccess: (base) => Effect.succeed(Effect.succeed(base)),
      onFailure: (refusal) => Effect.fail(new Error(`The public URL ${HttpAddress.rules[refusal]}.`))
    })
  )
