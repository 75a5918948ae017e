import { type CarrierDefinition, defineCarrier, defineConfig, Money, Reply } from "@quotewire/core"
import { Schema } from "effect"
import { idOf, type Mode } from "./Carriers.ts"

/*
 * For hosts under chaos: a carrier of each kind on the server of `Carriers.ts`, in addition to the fictional ones.
 */

const baseUrl = process.env.CHAOS_CARRIERS_URL ?? ""

const Quote = Schema.Struct({ number: Schema.String, cents: Schema.optionalKey(Money.FromCents) })
const readQuote = Schema.decodeUnknownSync(Schema.fromJsonString(Quote))

const replyOf = ({ number, cents }: typeof Quote.Type) =>
  cents === undefined
    ? Reply.pending(number, { poll_after_ms: 2_000 })
    : Reply.offers([{ offer_ref: number, premium: cents, term_months: 12 }])

const terms = {
  states: ["NY"],
  wants: ["applicant.first_name"],
  rate_per_minute: 100_000,
  max_concurrent: 1_000
} as const

type Ask = CarrierDefinition.CarrierDefinition<"renters", Record<never, never>, { readonly base_url: string }>["ask"]

const of = <const More extends object>(mode: Mode, more: More) => ({
  id: idOf(mode),
  name: mode,
  environments: ["sandbox"] as const,
  lines: { renters: { ...terms, ...more } },
  http: { base_url: baseUrl }
})

/** Whom a request is for: each request of the load has its own person. */
const personOf = ({ applicant }: { readonly applicant?: { readonly first_name?: string } }): string =>
  applicant?.first_name ?? "nobody"

const asks =
  (mode: Mode): Ask =>
  async ({ facts, http }) =>
    replyOf((await http.post("/{mode}/ask/{person}", { params: { mode, person: personOf(facts) } })).json(Quote))

export default defineConfig({
  carriers: [
    defineCarrier({ ...of("instant", { idempotent: true }), ask: asks("instant") }),
    defineCarrier({ ...of("once", {}), ask: asks("once") }),
    defineCarrier({
      ...of("polled", { mode: "poll", idempotent: true }),
      ask: asks("polled"),
      poll: async ({ http, ref }) =>
        replyOf((await http.post("/polled/poll/{ref}", { params: { ref }, idempotent: true })).json(Quote))
    }),
    defineCarrier({
      ...of("calls-back", { mode: "callback", idempotent: true }),
      ask: async ({ facts, http }) => {
        const params = { person: personOf(facts) }
        return Reply.pending((await http.post("/calls-back/ask/{person}", { params })).json(Quote).number)
      },
      callback: ({ text }) => {
        const quote = readQuote(text)
        return { ref: quote.number, reply: replyOf(quote) }
      }
    })
  ]
})
