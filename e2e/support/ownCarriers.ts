import { type CarrierDefinition, defineCarrier, Money, Reply } from "@quotewire/core"
import { Schema } from "effect"
import { idOf, type Name } from "./carrierLedger.ts"

/*
 * Twelve carriers of different kinds, as an embedder writes them. All but one call the server of `carrierLedger.ts`.
 */

const Quote = Schema.Struct({ number: Schema.String, cents: Schema.optionalKey(Money.FromCents) })
const XmlQuote = Schema.Struct({ Quote: Schema.Struct({ Number: Schema.String, Premium: Money.FromText }) })
const readQuote = Schema.decodeUnknownSync(Schema.fromJsonString(Quote))

const offersOf = (offer_ref: string, premium: Money.Money) => Reply.offers([{ offer_ref, premium, term_months: 12 }])

const replyOf = ({ number, cents }: typeof Quote.Type) =>
  cents === undefined ? Reply.pending(number, { poll_after_ms: 2_000 }) : offersOf(number, cents)

/** The terms of a carrier that must not be asked twice and whose limits allow every request of a test. */
const terms = { states: ["NY"], rate_per_minute: 10_000, max_concurrent: 100 } as const

type Ask = CarrierDefinition.CarrierDefinition<"renters", Record<never, never>, { readonly base_url: string }>["ask"]

/** Makes the carriers whose server is at this address. */
export const ownCarriers = (base_url: string) => {
  const of = <const More extends object>(name: Name, more: More) => ({
    id: idOf(name),
    name,
    environments: ["sandbox"] as const,
    lines: { renters: { ...terms, ...more } },
    http: { base_url }
  })
  /** Tells the ledger what it cannot see itself. */
  const tell = (path: string) => void fetch(`${base_url}${path}`, { method: "POST" })
  const asks =
    (name: Name): Ask =>
    async ({ facts, http }) =>
      replyOf((await http.post("/{name}/ask/{zip}", { params: { name, zip: facts.dwelling.address.zip } })).json(Quote))
  const prompt = (name: Name, more: object = {}) => defineCarrier({ ...of(name, more), ask: asks(name) })

  return [
    defineCarrier({
      ...of("function", {}),
      ask: ({ facts }) => {
        const { zip } = facts.dwelling.address
        const cents = 5_000 + (Number(zip) % 1_000)
        tell(`/function/ask/${zip}`)
        tell(`/function/note/${zip}/${cents}`)
        return offersOf(zip, Money.cents(cents))
      }
    }),
    prompt("prompt"),
    prompt("slow"),
    prompt("paid_report"),
    prompt("throttled"),
    prompt("fails_once", { idempotent: true }),
    defineCarrier({
      ...of("silent", { attempt_timeout_ms: 1_000, typical_ms: 500 }),
      ask: async ({ facts, http }) => {
        const { zip } = facts.dwelling.address
        // Reported separately from the call, which may end before it is sent on a busy machine.
        tell(`/silent/ask/${zip}`)
        return replyOf((await http.post("/silent/wait/{zip}", { params: { zip } })).json(Quote))
      }
    }),
    defineCarrier({
      ...of("two_steps", {}),
      ask: async ({ facts, http }) => {
        const params = { zip: facts.dwelling.address.zip }
        const { number } = (await http.post("/two_steps/ask/{zip}", { params })).json(Quote)
        return replyOf((await http.post("/two_steps/rate/{number}", { params: { number } })).json(Quote))
      }
    }),
    defineCarrier({
      ...of("polled", { mode: "poll" }),
      ask: asks("polled"),
      poll: async ({ http, ref }) =>
        replyOf((await http.post("/polled/poll/{ref}", { params: { ref }, idempotent: true })).json(Quote))
    }),
    defineCarrier({
      ...of("calls_back", { mode: "callback" }),
      ask: async ({ facts, http }) => {
        const params = { zip: facts.dwelling.address.zip }
        return Reply.pending((await http.post("/calls_back/ask/{zip}", { params })).json(Quote).number)
      },
      callback: ({ text }) => {
        const quote = readQuote(text)
        return { ref: quote.number, reply: replyOf(quote) }
      }
    }),
    defineCarrier({
      ...of("declines", {}),
      ask: async ({ facts, http }) => {
        await http.post("/declines/ask/{zip}", { params: { zip: facts.dwelling.address.zip } })
        return Reply.decline("prior_claims")
      }
    }),
    defineCarrier({
      ...of("xml", {}),
      ask: async ({ facts, http }) => {
        const { zip } = facts.dwelling.address
        const answer = await http.post("/xml/ask/{zip}", { params: { zip }, xml: { Inquiry: { Zip: zip } } })
        const { Number: number, Premium } = answer.xml(XmlQuote).Quote
        return offersOf(number, Premium)
      }
    })
  ]
}
