import { type CarrierDefinition, defineCarrier, Money, oauth, Reply } from "@quotewire/core"
import { Schema } from "effect"

/** The carrier's answer. All values are text, which the schema decodes. */
const Answer = Schema.Struct({
  ACORD: Schema.Struct({
    InsuranceSvcRs: Schema.Struct({
      RentersPolicyQuoteInqRs: Schema.Union([
        Schema.Struct({
          RqUID: Schema.String,
          MsgStatus: Schema.Struct({ MsgStatusCd: Schema.Literal("Success") }),
          PolicySummaryInfo: Schema.Struct({
            QuoteNumber: Schema.String,
            FullTermAmt: Schema.Struct({ Amt: Money.FromText })
          })
        }),
        Schema.Struct({
          RqUID: Schema.String,
          MsgStatus: Schema.Struct({ MsgStatusCd: Schema.Literal("Rejected"), MsgErrorCd: Schema.String })
        })
      ])
    })
  })
})

const replyOf = ({ ACORD }: typeof Answer.Type, RqUID: string) => {
  const answer = ACORD.InsuranceSvcRs.RentersPolicyQuoteInqRs
  // The answer repeats the ID that was sent. If it differs, the answer belongs to a different request.
  if (answer.RqUID !== RqUID) return Reply.unavailable("unreadable_answer")
  if (!("PolicySummaryInfo" in answer)) {
    return Reply.decline(answer.MsgStatus.MsgErrorCd === "LOSSES" ? "prior_claims" : "risk_outside_guidelines")
  }
  const { QuoteNumber, FullTermAmt } = answer.PolicySummaryInfo
  return Reply.offers([
    {
      offer_ref: QuoteNumber,
      product: "Angle Bracket Renters",
      premium: FullTermAmt.Amt,
      term_months: 12,
      handoff_url: `https://quotes.anglebracket.example/${QuoteNumber}`
    }
  ])
}

/** A carrier that is asked with a single XML message, modeled on ACORD messages. */
export const xml = (base_url: string, terms: Partial<CarrierDefinition.LineTerms<"renters">> = {}) =>
  defineCarrier({
    id: "naic:10002",
    name: "Angle Bracket Insurance",
    lines: { renters: { states: ["NY", "TX"], idempotent: true, ...terms } },
    handoff_hosts: ["quotes.anglebracket.example"],
    connection: { client_id: "string", client_secret: "secret" },
    http: { base_url, auth: oauth({ token_path: "/token" }) },
    ask: async ({ facts, http, idempotency_key }) => {
      const { address } = facts.dwelling
      const xml = {
        ACORD: {
          InsuranceSvcRq: {
            RentersPolicyQuoteInqRq: {
              RqUID: idempotency_key,
              Location: { Addr: { StateProvCd: address.state, PostalCode: address.zip } },
              QuestionAnswer: { NumLosses: facts.household?.claims_last_5_years ?? 0 },
              Coverage: {
                CoverageCd: "PP",
                Limit: { FormatInteger: facts.coverage?.personal_property_usd }
              }
            }
          }
        }
      }
      return replyOf((await http.post("/xml", { xml })).xml(Answer), idempotency_key)
    }
  })
