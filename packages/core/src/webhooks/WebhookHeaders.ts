import { Context } from "effect"
import { defaultHeaderPrefix } from "./Signature.ts"

/** The prefix of the service's own webhook headers, which are sent in addition to the standard `webhook-` headers. */
export const WebhookHeaderPrefix = Context.Reference<string>("@quotewire/core/WebhookHeaderPrefix", {
  defaultValue: () => defaultHeaderPrefix
})
