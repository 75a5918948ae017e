import { Context } from "effect"
import { defaultHeaderPrefix } from "./Signature.ts"

/** The prefix of the second set of webhook headers. */
export const WebhookHeaderPrefix = Context.Reference<string>("@quotewire/core/WebhookHeaderPrefix", {
  defaultValue: () => defaultHeaderPrefix
})
