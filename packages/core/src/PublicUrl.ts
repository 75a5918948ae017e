import { Context } from "effect"

/**
 * Tells the address under which callers reach the host, without a slash at its end: what stands in front of `/go/…`.
 *
 * It is asked whenever a link is written, since a host may know its port only when it listens.
 */
export const PublicUrl = Context.Reference<() => string>("@quotewire/core/PublicUrl", {
  defaultValue: () => () => "http://127.0.0.1:8787"
})
