import { apiKey, defineCarrier, Money, Reply } from "@quotewire/core"
import { Schema } from "effect"

const Quote = Schema.Struct({ number: Schema.String, premium_cents: Schema.Int })

/** A carrier whose server is at the address in `TRIAL_URL`. */
export const acme = defineCarrier({
  id: "naic:12345",
  name: "Acme Mutual",
  lines: { renters: { states: ["NY"], wants: ["applicant.email"], idempotent: true } },
  connection: { producer_code: "string", api_key: "secret" },
  http: {
    base_url: process.env.TRIAL_URL ?? "http://127.0.0.1:1",
    auth: apiKey({ header: "x-api-key", field: "api_key" }),
    redact: ["email"]
  },
  ask: async ({ connection, facts, http, idempotency_key }) => {
    const json = { key: idempotency_key, producer: connection.producer_code, email: facts.applicant?.email }
    const { number, premium_cents } = (await http.post("/quotes", { json })).json(Quote)
    return Reply.offers([{ offer_ref: number, premium: Money.cents(premium_cents), term_months: 12 }])
  }
})

/** A carrier that is sent a different number each time, so that no recording of it can be played back. */
export const fickle = defineCarrier({
  id: "naic:88888",
  name: "Fickle",
  lines: { renters: { states: ["NY"] } },
  http: { base_url: process.env.TRIAL_URL ?? "http://127.0.0.1:1" },
  ask: async ({ http, idempotency_key }) => {
    const json = { key: idempotency_key, message_id: crypto.randomUUID() }
    const { number, premium_cents } = (await http.post("/quotes", { json })).json(Quote)
    return Reply.offers([{ offer_ref: number, premium: Money.cents(premium_cents), term_months: 12 }])
  }
})

/** A carrier that breaks rules. */
export const careless = defineCarrier({
  id: "naic:99999",
  name: "Careless",
  lines: { renters: { states: ["NY"] } },
  ask: () => Reply.offers([{ offer_ref: "1", premium: Money.cents(0) }])
})
