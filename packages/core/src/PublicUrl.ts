import { Context } from "effect"

/** The address under which callers reach the host, without a slash at its end: what stands in front of `/go/…`. */
export const PublicUrl = Context.Reference<string>("@quotewire/core/PublicUrl", {
  defaultValue: () => "http://127.0.0.1:8787"
})
