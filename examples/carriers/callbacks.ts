import { createHmac, timingSafeEqual } from "node:crypto"
import { type CarrierDefinition, defineCarrier, Money, oauth, Reply } from "@quotewire/core"
import { Option, Schema } from "effect"

const Accepted = Schema.Struct({ application_number: Schema.String })

/** The body of a callback. */
const Decision = Schema.Union([
  Schema.Struct({
    application_number: Schema.String,
    decision: Schema.Literal("accepted"),
    annual_premium_cents: Money.FromCents
  }),
  Schema.Struct({ application_number: Schema.String, decision: Schema.Literal("refused") })
])

const readNumber = Schema.decodeUnknownOption(Schema.fromJsonString(Accepted))
const readDecision = Schema.decodeUnknownOption(Schema.fromJsonString(Decision))

const replyOf = (found: typeof Decision.Type) =>
  found.decision === "refused"
    ? Reply.decline("property_not_eligible")
    : Reply.offers([
        {
          offer_ref: found.application_number,
          product: "Ringback Renters",
          premium: found.annual_premium_cents,
          term_months: 12,
          handoff_url: `https://quotes.ringback.example/${found.application_number}`
        }
      ])

/** Whether the carrier signed these bytes. */
const isSigned = (secret: string, raw: Uint8Array, signature: unknown): boolean => {
  const wanted = Buffer.from(`sha256=${createHmac("sha256", secret).update(raw).digest("hex")}`)
  const given = Buffer.from(typeof signature === "string" ? signature : "")
  return given.length === wanted.length && timingSafeEqual(given, wanted)
}

/**
 * A carrier that accepts an application and later calls back with its decision. The callback contains the number that
 * the carrier assigned.
 */
export const callbacks = (
  base_url: string,
  callback_secret: string,
  terms: Partial<CarrierDefinition.LineTerms<"renters">> = {}
) =>
  defineCarrier({
    id: "naic:10003",
    name: "Ringback General",
    lines: { renters: { states: ["NY", "TX"], mode: "callback", idempotent: true, ...terms } },
    handoff_hosts: ["quotes.ringback.example"],
    connection: { client_id: "string", client_secret: "secret" },
    http: { base_url, auth: oauth({ token_path: "/token" }) },
    ask: async ({ facts, http, idempotency_key }) => {
      const json = {
        key: idempotency_key,
        postcode: facts.dwelling.address.zip,
        contents_usd: facts.coverage?.personal_property_usd,
        lets_to_guests: facts.dwelling.short_term_rental
      }
      const { application_number } = (await http.post("/applications", { json })).json(Accepted)
      return Reply.pending(application_number)
    },
    callback: ({ raw, text, headers }) => {
      if (!isSigned(callback_secret, raw, headers["x-signature"])) return null
      const known = Option.getOrNull(readNumber(text))
      if (known === null) return null
      const reply = Option.match(readDecision(text), {
        onNone: () => Reply.unavailable("unreadable_answer"),
        onSome: replyOf
      })
      return { ref: known.application_number, reply }
    }
  })
