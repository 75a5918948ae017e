import { Context } from "effect"
import { default_header_prefix } from "./Signature.ts"

/** The prefix of the second set of webhook headers. */
export const WebhookHeaderPrefix = Context.Reference<string>("@quotewire/core/WebhookHeaderPrefix", {
  defaultValue: () => default_header_prefix
})
