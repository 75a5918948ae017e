import { type CarrierDefinition, defineCarrier, Money, oauth, Reply } from "@quotewire/core"
import { Schema } from "effect"

/** The body with which the carrier answers a quote. */
const Quote = Schema.Struct({
  quote_number: Schema.String,
  status: Schema.Literals(["open", "rating", "rated", "declined"]),
  annual_premium: Schema.optionalKey(Money.FromText),
  code: Schema.optionalKey(Schema.String)
})

const declines = { D17: "risk_outside_guidelines", D20: "property_not_eligible" } as const
const isCode = (code: string): code is keyof typeof declines => Object.hasOwn(declines, code)

const replyOf = ({ quote_number, status, annual_premium, code = "" }: typeof Quote.Type) => {
  if (status === "declined") return Reply.decline(isCode(code) ? declines[code] : "risk_outside_guidelines")
  if (annual_premium === undefined) return Reply.pending(quote_number, { poll_after_ms: 2_000 })
  return Reply.offers([
    {
      offer_ref: quote_number,
      product: "Stepwise Renters",
      premium: annual_premium,
      term_months: 12,
      handoff_url: `https://quotes.stepwise.example/${quote_number}`
    }
  ])
}

/** A carrier with a JSON API. One call opens a quote, another starts rating it, and polls read the result. */
export const jsonPolls = (base_url: string, terms: Partial<CarrierDefinition.LineTerms<"renters">> = {}) =>
  defineCarrier({
    id: "naic:10001",
    name: "Stepwise Mutual",
    lines: {
      renters: { states: ["NY", "TX"], wants: ["applicant.email"], mode: "poll", idempotent: true, ...terms }
    },
    handoff_hosts: ["quotes.stepwise.example"],
    connection: { client_id: "string", client_secret: "secret" },
    http: { base_url, auth: oauth({ token_path: "/token" }), redact: ["contact"] },
    ask: async ({ facts, http, idempotency_key }) => {
      const { applicant, coverage, dwelling, household } = facts
      const json = {
        contact: { email: applicant?.email },
        risk: {
          zip: dwelling.address.zip,
          home: dwelling.type === "single_family" ? "HOUSE" : "UNIT",
          contents: coverage?.personal_property_usd,
          bitten: household?.dog_with_bite_history
        }
      }
      const headers = { "idempotency-key": idempotency_key }
      const { quote_number } = (await http.post("/json/quotes", { json, headers })).json(Quote)
      return replyOf((await http.post("/json/quotes/{quote_number}/rate", { params: { quote_number } })).json(Quote))
    },
    poll: async ({ ref, http }) =>
      replyOf((await http.get("/json/quotes/{quote_number}", { params: { quote_number: ref } })).json(Quote))
  })
