import * as Dollars from "../../answers/Dollars.ts"
import { count, dollars, words } from "../../answers/phrases.ts"
import { amounts, drawCover } from "./drawCover.ts"
import { type Child, element, foldable, isolated, list, longestName, moment, sentence } from "./elements.ts"
import type { Quote } from "./Result.ts"
import { nameOf, type SharedParts } from "./Shared.ts"

/** What drawing a quote depends on, besides the quote. */
export interface DrawContext {
  /** Whether this is the only quote, so that there is room for its details. */
  readonly is_alone: boolean
  /** The person's time zone; undefined to use the browser's. */
  readonly timeZone: string | undefined
  /** The current time, in milliseconds since 1970. */
  readonly now: number
  readonly premium_includes_fees: true | null
  /** Asks the client program to open a URL. Resolves to false if it does not. */
  readonly openLink: (url: string) => Promise<boolean>
}

/**
 * Draws one quote, without what all quotes have in common. Its parts are aligned in rows with the parts of the
 * neighboring quotes.
 */
export const drawQuote = (quote: Quote, shared: SharedParts, context: DrawContext): HTMLElement => {
  const { price, source, status } = quote
  const { carrier, product } = source
  return element(
    "article",
    status === "inactive" ? "quote inactive" : "quote",
    element(
      "header",
      "",
      element("h2", "", isolated(nameOf(carrier, shared), longestName)),
      ...(product === null ? [] : [element("p", "minor", isolated(product, longestName))])
    ),
    element(
      "div",
      "",
      element("p", "price", ...priceOf(price)),
      ...aboutPrice(quote, shared).map((line) => element("p", "minor", line))
    ),
    foldable(
      "Coverage, fees and terms",
      context.is_alone,
      ...coverOf(quote, shared),
      part("Fees", ...feesOf(quote, context)),
      ...termsOf(quote, shared)
    ),
    element("footer", "", ...endOf(quote, shared, context))
  )
}

/** A part of a quote or section, with a title. */
export const part = (title: string, ...children: ReadonlyArray<Child>): HTMLElement =>
  element("section", "", element("h3", "", title), ...children)

/** A titled list of texts from carriers; nothing if the list is empty. */
export const texts = (title: string, items: ReadonlyArray<string>): ReadonlyArray<HTMLElement> =>
  items.length === 0
    ? []
    : [
        part(
          title,
          list(
            "",
            items.map((item) => [isolated(item)])
          )
        )
      ]

/**
 * The monthly price in large type, because it is comparable across terms. If there is no monthly price, the price of
 * the whole term.
 */
const priceOf = ({ comparison, premium, term_months }: Quote["price"]): ReadonlyArray<Child> => {
  if (premium === null) return ["Price unknown"]
  if (comparison !== null) return [Dollars.format(comparison.amount.amount_minor), term(" a month")]
  return [
    Dollars.format(premium.amount_minor),
    ...(term_months === null ? [] : [term(` for ${count(term_months, "month")}`)])
  ]
}

const term = (text: string): HTMLElement => element("span", "term", text)

/** The price of the whole term, how it is billed, what the monthly price is for, and how reliable the price is. */
const aboutPrice = ({ evidence, price }: Quote, { comparisons, labels }: SharedParts): ReadonlyArray<Child> => {
  const { billing_cycle, comparison, premium, term_months } = price
  const whole =
    premium === null || comparison === null || term_months === null
      ? []
      : [`${Dollars.format(premium.amount_minor)} for ${count(term_months, "month")}`]
  const billing = billing_cycle === null ? [] : [`billing: ${words(billing_cycle)}`]
  const priceText = [...whole, ...billing].join(", ")
  return [
    ...(priceText === "" ? [] : [`${priceText.charAt(0).toUpperCase()}${priceText.slice(1)}`]),
    ...(comparison === null || comparisons.has(comparison.label) ? [] : [isolated(comparison.label)]),
    ...(evidence.label === "" || labels.has(evidence.label) ? [] : [isolated(evidence.label)])
  ]
}

const coverOf = ({ coverage: { subjects } }: Quote, { covers }: SharedParts): ReadonlyArray<HTMLElement> => {
  const ownCovers = drawCover(subjects, (key) => !covers.has(key))
  if (ownCovers.length > 0) return [part(covers.size === 0 ? "Coverage" : "Coverage that differs", ...ownCovers)]
  const text = covers.size === 0 ? "Not stated" : "The same in every quote"
  return [part("Coverage", element("p", "minor", text))]
}

const feesOf = ({ price: { fees } }: Quote, { premium_includes_fees }: DrawContext): ReadonlyArray<Child> => {
  if (fees.length === 0) return [element("p", "minor", "None stated")]
  const included =
    premium_includes_fees === true ? "The price includes them." : "It is unknown whether the price includes them."
  return [
    amounts(fees.map(({ amount, code }) => [isolated(sentence(code), longestName), dollars(amount)])),
    element("p", "minor", included)
  ]
}

const termsOf = (
  { coverage, evidence }: Quote,
  { assumptions, conditions }: SharedParts
): ReadonlyArray<HTMLElement> => [
  ...texts(
    "Conditions",
    coverage.conditions.filter((text) => !conditions.has(text))
  ),
  ...texts(
    "Assumed",
    evidence.assumptions.map(({ label }) => label).filter((label) => !assumptions.has(label))
  )
]

/** The end of a quote: whether it can still be accepted, and how. */
const endOf = (quote: Quote, shared: SharedParts, context: DrawContext): ReadonlyArray<Child> => {
  const { availability, environment, status, status_details } = quote
  const { expires_at } = availability
  if (status === "inactive") return [element("p", "ended", "No longer available. ", isolated(status_details.message))]
  // In a sandbox, expiry depends on the sandbox's own clock, which the page does not know.
  if (environment === "live" && expires_at !== null && Date.parse(expires_at) <= context.now) {
    return [element("p", "ended", "This price was available until ", moment(expires_at, context.timeZone), ".")]
  }
  return [
    expires_at === null
      ? element("p", "minor", "No end date stated")
      : element("p", "minor", "Available until ", moment(expires_at, context.timeZone)),
    ...onwardOf(quote, shared, context)
  ]
}

/**
 * A button that opens the carrier's site. It is replaced by the URL as text if the URL is http, or if the client
 * program does not open it.
 */
const onwardOf = (
  { next_actions, source }: Quote,
  shared: SharedParts,
  { openLink }: DrawContext
): ReadonlyArray<Child> => {
  const url = next_actions.find(({ type }) => type === "continue_on_carrier_site")?.url
  if (typeof url !== "string") return []
  const protocol = URL.canParse(url) ? new URL(url).protocol : ""
  const address = element("p", "minor", "To continue, open ", isolated(url))
  if (protocol !== "https:") return protocol === "http:" ? [address] : []
  const button = element("button", "", "Continue at ", isolated(nameOf(source.carrier, shared), longestName))
  button.type = "button"
  button.addEventListener("click", async () => {
    if (!(await openLink(url))) button.replaceWith(address)
  })
  return [button]
}
