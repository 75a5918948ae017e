import { Context } from "effect"
import { default_header_prefix } from "./Signature.ts"

/** What the second set of webhook headers begins with. */
export const WebhookHeaderPrefix = Context.Reference<string>("@quotewire/core/WebhookHeaderPrefix", {
  defaultValue: () => default_header_prefix
})
