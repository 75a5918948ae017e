import { type CarrierDefinition, defineCarrier, Money, oauth, Reply } from "@quotewire/core"
import { Schema } from "effect"

/**
 * The carrier's answer about a quote, when the quote is opened and at each poll. All values are text, which the schema
 * decodes.
 */
const Answer = Schema.Struct({
  Quote: Schema.Union([
    Schema.Struct({ "@number": Schema.String, Status: Schema.Literals(["Open", "Rating"]) }),
    Schema.Struct({
      "@number": Schema.String,
      Status: Schema.Literal("Declined"),
      Reason: Schema.Array(Schema.String)
    }),
    Schema.Struct({ "@number": Schema.String, Status: Schema.Literal("Rated"), Premium: Money.FromText })
  ])
})

const replyOf = ({ Quote }: typeof Answer.Type) => {
  const { "@number": number } = Quote
  if (Quote.Status === "Declined") {
    return Reply.decline(Quote.Reason.includes("LOSSES") ? "prior_claims" : "risk_outside_guidelines")
  }
  if (Quote.Status !== "Rated") return Reply.pending(number, { poll_after_ms: 2_000 })
  const handoff_url = `https://quotes.foolscap.example/${number}`
  return Reply.offers([{ offer_ref: number, premium: Quote.Premium, term_months: 12, handoff_url }])
}

/** A carrier with an XML API. One message opens a quote, and polls read the result. */
export const xmlPolls = (base_url: string, terms: Partial<CarrierDefinition.LineTerms<"renters">> = {}) =>
  defineCarrier({
    id: "naic:10004",
    name: "Foolscap Mutual",
    lines: { renters: { states: ["NY", "TX"], wants: ["applicant.email"], mode: "poll", idempotent: true, ...terms } },
    handoff_hosts: ["quotes.foolscap.example"],
    connection: { client_id: "string", client_secret: "secret" },
    http: { base_url, auth: oauth({ token_path: "/token" }), redact: ["Applicant"] },
    ask: async ({ facts, http, idempotency_key }) => {
      const [Zip, Contents] = [facts.dwelling.address.zip, facts.coverage?.personal_property_usd]
      const Risk = { Zip, Contents, Claims: facts.household?.claims_last_5_years }
      const xml = { Open: { Key: idempotency_key, Applicant: { "@email": facts.applicant?.email }, Risk } }
      return replyOf((await http.post("/foolscap", { xml })).xml(Answer))
    },
    poll: async ({ ref, http }) => replyOf((await http.get("/foolscap/{ref}", { params: { ref } })).xml(Answer))
  })
