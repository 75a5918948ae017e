import { apiKey, defineCarrier, Money, Reply } from "@quotewire/core"
import { Schema } from "effect"

/** The response body of the carrier's quote API. */
const Quote = Schema.Struct({
  number: Schema.String,
  status: Schema.Literals(["open", "quoted", "declined"]),
  premium_cents: Schema.optionalKey(Money.FromCents)
})

const replyOf = ({ number, status, premium_cents }: typeof Quote.Type) => {
  if (status === "declined") return Reply.decline("risk_outside_guidelines")
  if (premium_cents === undefined) return Reply.pending(number, { poll_after_ms: 2_000 })
  return Reply.offers([{ offer_ref: number, premium: premium_cents, term_months: 12 }])
}

/** A carrier with an API key. The adapter polls the carrier's API for the quote. */
export const acme = defineCarrier({
  id: "naic:12345",
  name: "Acme Mutual",
  lines: { renters: { states: ["NY"], wants: ["applicant.email"], mode: "poll", idempotent: true } },
  connection: { api_key: "secret" },
  http: {
    base_url: { sandbox: "https://sandbox.acme.example", live: "https://api.acme.example" },
    auth: apiKey({ header: "x-api-key", field: "api_key" }),
    redact: ["email"]
  },
  ask: async ({ facts, http, idempotency_key }) => {
    const json = { key: idempotency_key, zip: facts.dwelling.address.zip, email: facts.applicant?.email }
    return replyOf((await http.post("/quotes", { json })).json(Quote))
  },
  poll: async ({ ref, http }) => replyOf((await http.get("/quotes/{number}", { params: { number: ref } })).json(Quote))
})
