import { type CarrierDefinition, defineCarrier, Money, oauth, Reply } from "@quotewire/core"
import { Option, Schema } from "effect"
import { XMLBuilder, XMLParser } from "fast-xml-parser"

const builder = new XMLBuilder()
// Numbers stay text, so that "0012" and "171.10" are read as they are written.
const parser = new XMLParser({ parseTagValue: false })

/** What the carrier's answer holds. */
const Answer = Schema.Struct({
  ACORD: Schema.Struct({
    InsuranceSvcRs: Schema.Struct({
      RentersPolicyQuoteInqRs: Schema.Union([
        Schema.Struct({
          RqUID: Schema.String,
          MsgStatus: Schema.Struct({ MsgStatusCd: Schema.Literal("Success") }),
          PolicySummaryInfo: Schema.Struct({
            QuoteNumber: Schema.String,
            FullTermAmt: Schema.Struct({ Amt: Schema.String.check(Schema.isPattern(/^\d{1,6}\.\d\d$/)) })
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

const decode = Schema.decodeUnknownOption(Answer)

/** The answer in a text; none if it is not XML, or not this answer. */
const read = (text: string): Option.Option<typeof Answer.Type> => {
  try {
    return decode(parser.parse(text, true))
  } catch {
    return Option.none()
  }
}

const replyOf = (text: string, RqUID: string) => {
  const answer = Option.getOrNull(read(text))?.ACORD.InsuranceSvcRs.RentersPolicyQuoteInqRs
  // The answer repeats our number, so one that belongs to another request is found out.
  if (answer?.RqUID !== RqUID) return Reply.unavailable("unreadable_answer")
  if (!("PolicySummaryInfo" in answer)) {
    return Reply.decline(answer.MsgStatus.MsgErrorCd === "LOSSES" ? "prior_claims" : "risk_outside_guidelines")
  }
  const { QuoteNumber, FullTermAmt } = answer.PolicySummaryInfo
  return Reply.offers([
    {
      offer_ref: QuoteNumber,
      product: "Angle Bracket Renters",
      premium: Money.cents(Number(FullTermAmt.Amt.replace(".", ""))),
      term_months: 12,
      handoff_url: `https://quotes.anglebracket.example/${QuoteNumber}`
    }
  ])
}

/** A carrier that is asked with one XML message, after those of ACORD. */
export const xml = (base_url: string, terms: Partial<CarrierDefinition.LineTerms> = {}) =>
  defineCarrier({
    id: "naic:10002",
    name: "Angle Bracket Insurance",
    lines: { renters: { states: ["NY", "TX"], idempotent: true, ...terms } },
    handoff_hosts: ["quotes.anglebracket.example"],
    connection: { client_id: "string", client_secret: "secret" },
    http: { base_url, auth: oauth({ token_path: "/token" }) },
    ask: async ({ facts, http, idempotency_key }) => {
      const { address } = facts.dwelling
      const message = {
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
      const answer = await http.post("/xml", { text: builder.build(message), content_type: "application/xml" })
      return replyOf(answer.text, idempotency_key)
    }
  })
