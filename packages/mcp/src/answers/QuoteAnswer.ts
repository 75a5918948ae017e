import type { Resource } from "@quotewire/core"
import * as Answer from "./Answer.ts"
import * as CardExtras from "./CardExtras.ts"
import * as Dollars from "./Dollars.ts"
import { count, dollars, words } from "./phrases.ts"

type Quote = Resource.Quote

/** Formats a price for a person: the premium of the whole term, in dollars. */
const display = ({ premium, term_months }: Quote["price"]): string => {
  if (premium === null) return "price unknown"
  const price = Dollars.format(premium.amount_minor)
  return term_months === null ? price : `${price} for ${count(term_months, "month")}`
}

/** A quote together with what a model must tell the person: the price as text, and a label for each assumption. */
export const shown = (quote: Quote) => ({
  ...quote,
  price: { ...quote.price, display: display(quote.price) },
  evidence: {
    ...quote.evidence,
    assumptions: quote.evidence.assumptions.map((assumption) => ({ ...assumption, label: labelOf(assumption) }))
  }
})

const labelOf = ({ label, path, value }: Quote["evidence"]["assumptions"][number]): string =>
  label ?? `${path}: ${value}`

const billed = (cycle: string): string => billings.get(cycle) ?? `billed ${words(cycle)}`

const billings: ReadonlyMap<string, string> = new Map([
  ["pay_in_full", "paid in full"],
  ["two_payments", "billed in two payments"],
  ["semiannual", "billed semiannually"],
  ["annual", "billed annually"]
])

/** Describes a quote in one line: its carrier, price, billing, fees, expiry and ID. */
export const lineOf = (quote: Quote): string => {
  const { availability, price, source, status, status_details } = quote
  const fees = price.fees.map(({ amount, code }) => `${words(code)} ${dollars(amount)}`)
  return [
    `${source.carrier.name}: ${display(price)}`,
    ...(price.billing_cycle === null ? [] : [billed(price.billing_cycle)]),
    ...(fees.length === 0 ? [] : [`fees: ${fees.join(", ")}`]),
    ...(status === "inactive" ? [`not available: ${status_details.message}`] : []),
    ...(status === "active" && availability.expires_at !== null ? [`valid until ${availability.expires_at}`] : [])
  ]
    .join(", ")
    .concat(` (${quote.id})`)
}

/**
 * Describes what is covered, with limits and deductibles, and what is not. It names subjects by ID, because their
 * labels contain facts about the person.
 */
export const coverOf = ({ coverage }: Quote): string =>
  coverage.subjects
    .map(({ coverages, subject_id }) => {
      const included = coverages.filter((item) => item.included === true).map(itemOf)
      const unknown = coverages.filter((item) => item.included === null).map(itemOf)
      const excluded = coverages.filter((item) => item.included === false).map(({ code }) => words(code))
      const parts = [
        ...included,
        ...(excluded.length === 0 ? [] : [`not covered: ${excluded.join(", ")}`]),
        ...(unknown.length === 0 ? [] : [`unknown: ${unknown.join(", ")}`])
      ]
      return `${coverage.subjects.length === 1 ? "" : `${subject_id}: `}${parts.join("; ")}`
    })
    .join(". ")

const itemOf = ({ code, deductible, limit }: Quote["coverage"]["subjects"][number]["coverages"][number]): string => {
  const upTo = limit === null ? "" : ` ${dollars(limit)}`
  const name = words(code)
  const kind = name.endsWith("deductible") ? "" : " deductible"
  const deductibleText = deductible === null ? "" : ` ${dollars(deductible)}${kind}`
  return `${name}${upTo}${deductibleText}`
}

/** Describes the assumptions about facts that the person did not give. */
export const assumedOf = ({ evidence }: Quote): string => evidence.assumptions.map(labelOf).join("; ")

/** What a model must know about every price. */
export const caution =
  "Each price is for the whole term, whatever the billing. A quote is an offer of a price, not coverage, and these are not all carriers of the market. null means unknown."

/** A quote: its price, coverage and assumptions for a person, and how to continue with the carrier. */
export const present = Answer.make((quote: Quote, { shows_views }) => ({
  summary: summaryOf(quote),
  fields: shown(quote),
  ...(shows_views && { card: CardExtras.of(quote.environment, undefined) })
}))

const summaryOf = (quote: Quote): string => {
  const onward = quote.next_actions.find(({ type }) => type === "continue_on_carrier_site")
  const assumed = assumedOf(quote)
  return [
    `${lineOf(quote)}, version ${quote.version}.`,
    `Coverage: ${coverOf(quote)}.`,
    ...(assumed === "" ? [] : [`Assumed, so tell the person and ask whether it is true: ${assumed}.`]),
    ...(onward === undefined
      ? []
      : [
          // The URL ends the line, so that no period becomes part of it.
          `To continue with this carrier, the person opens this link themselves: ${onward.url}`,
          "Show them the link. No tool can open it, and no tool exists for request_assistance."
        ]),
    caution
  ].join("\n")
}
