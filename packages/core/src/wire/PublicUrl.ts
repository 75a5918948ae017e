import { Context, Effect, Layer, Result } from "effect"
import { InvalidArgument } from "./Argument.ts"
import * as HttpAddress from "./HttpAddress.ts"

/** The default address of a host: the address that `quotewire dev` uses on this machine. */
export const defaultAddress = "http://127.0.0.1:8787"

/**
 * The address at which callers reach the host, without a trailing slash. It is the base of `/go/…` links.
 *
 * It is an effect, because a host may learn its port only when it starts to listen, and stored links contain this
 * address. Provide it with `layer`, which checks the address.
 */
export const PublicUrl = Context.Reference<Effect.Effect<string>>("@quotewire/core/PublicUrl", {
  defaultValue: () => Effect.succeed(defaultAddress)
})

/** Provides a known address. Fails with the rule that the address breaks, if any. */
export const layer = (address: string): Layer.Layer<never, InvalidArgument> =>
  Layer.effect(
    PublicUrl,
    Effect.fromResult(
      Result.mapBoth(HttpAddress.readBase(address), {
        onSuccess: Effect.succeed,
        onFailure: (refusal) => new InvalidArgument({ message: `The public URL ${HttpAddress.rules[refusal]}.` })
      })
    )
  )
