import { Json } from "@quotewire/core"
import { Effect } from "effect"
import type { SharedSettings } from "./peers/Peer.ts"
import * as Service from "./Service.ts"
import * as starts from "./starts.ts"

/**
 * Asks the service itself for what the peers serve: a quote, the schema of the body that starts a quote request, and
 * the response to a call with such a body.
 */
export const make: Effect.Effect<SharedSettings> = Effect.gen(function* () {
  const key = yield* Service.makeKey
  const [quote] = yield* Service.makeQuotes(key, starts.smallest("the-quote"))
  const { capabilities } = Json.decode(yield* Service.call(Service.getCapabilities, key, { line: "personal_auto" }))
  const start = { ...starts.household("the-start"), scenario: "waits_in_queue" }
  const started = Json.decode(yield* Service.call(Service.startQuoteRequest, key, start))
  if (quote === undefined) return yield* Effect.die("The service has made no quote")
  return { quote, started, start_schema: startSchema(capabilities.required_facts_schema) }
}).pipe(Effect.provide(Service.layer))

const startSchema = (facts: object) => ({
  type: "object",
  additionalProperties: false,
  required: ["line", "request_key", "consent_receipt_id", "application"],
  properties: {
    line: { enum: ["personal_auto", "renters", "pet"] },
    request_key: { type: "string", pattern: "^[\\x21-\\x7e]{1,200}$" },
    consent_receipt_id: { type: "string", pattern: "^[A-Za-z0-9][A-Za-z0-9_-]{7,127}$" },
    scenario: { type: "string" },
    application: facts
  }
})
