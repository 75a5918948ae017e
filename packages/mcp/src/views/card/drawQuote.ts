import { dollars, words } from "../../answers/phrases.ts"
import { type Child, element, list, longest_name, moment, sentence, theirs } from "./elements.ts"
import type { Quote } from "./Result.ts"

/** How quotes are drawn. */
export interface Drawing {
  /** The time zone of the person; undefined for that of the browser. */
  readonly timeZone: string | undefined
  /** Milliseconds since 1970. */
  readonly now: number
  readonly premium_includes_fees: true | null
  /** Asks the program to open an address. False if it does not. */
  readonly openLink: (url: string) => Promise<boolean>
}

/** One quote. Its parts stand in the same rows as those of the quotes beside it. */
export const drawQuote = (quote: Quote, isShared: (label: string) => boolean, drawing: Drawing): HTMLElement => {
  const { price, source } = quote
  const { carrier, product } = source
  const own = quote.evidence.assumptions.filter(({ label }) => !isShared(label))
  return element(
    "article",
    quote.status === "inactive" ? "quote inactive" : "quote",
    element(
      "header",
      "",
      element("h2", "", theirs(carrier.name, longest_name)),
      ...(product === null ? [] : [element("p", "minor", theirs(product, longest_name))])
    ),
    element(
      "div",
      "",
      element("p", "price", price.display),
      ...aboutPrice(quote).map((line) => element("p", "minor", line))
    ),
    part("Cover", ...coverOf(quote)),
    part("Fees", ...feesOf(quote, drawing)),
    element(
      "div",
      "terms",
      ...(quote.coverage.conditions.length === 0
        ? []
        : [
            part(
              "Conditions",
              list(
                "",
                quote.coverage.conditions.map((text) => [theirs(text)])
              )
            )
          ]),
      ...(own.length === 0
        ? []
        : [
            part(
              "Assumed",
              list(
                "",
                own.map(({ label }) => [theirs(label)])
              )
            )
          ])
    ),
    element("footer", "", ...endOf(quote, drawing))
  )
}

const part = (title: string, ...children: ReadonlyArray<Child>): HTMLElement =>
  element("section", "", element("h3", "", title), ...children)

/** How the price is billed, and the price of a month, which the service has worked out. */
const aboutPrice = ({ evidence, price: { billing_cycle, comparison } }: Quote): ReadonlyArray<string> => [
  ...(billing_cycle === null ? [] : [`Billing: ${words(billing_cycle)}`]),
  ...(comparison === null ? [] : [`${dollars(comparison.amount)}: ${comparison.label}`]),
  ...(evidence.label === "" ? [] : [evidence.label])
]

type Cover = Quote["coverage"]["subjects"][number]["coverages"][number]

const coverOf = ({ coverage: { subjects } }: Quote): ReadonlyArray<Child> =>
  subjects.length === 0
    ? [element("p", "minor", "Not stated")]
    : subjects.flatMap(({ coverages, kind, label }) => [
        element("h4", "", label === null ? sentence(kind) : theirs(label, longest_name)),
        element(
          "dl",
          "",
          ...coverages.flatMap((cover) => [
            element("dt", "", theirs(sentence(cover.code), longest_name)),
            element("dd", "", extentOf(cover))
          ])
        )
      ])

const extentOf = ({ deductible, included, limit }: Cover): string => {
  if (included === false) return "Not covered"
  const amounts = [
    ...(limit === null ? [] : [`up to ${dollars(limit)}`]),
    ...(deductible === null ? [] : [`${dollars(deductible)} deductible`])
  ].join(", ")
  if (included === null) return amounts === "" ? "Unknown" : `Unknown; ${amounts}`
  return amounts === "" ? "Covered" : amounts
}

const feesOf = ({ price: { fees } }: Quote, { premium_includes_fees }: Drawing): ReadonlyArray<Child> =>
  fees.length === 0
    ? [element("p", "minor", "None stated")]
    : [
        element(
          "dl",
          "",
          ...fees.flatMap(({ amount, code }) => [
            element("dt", "", theirs(sentence(code), longest_name)),
            element("dd", "", dollars(amount))
          ])
        ),
        element(
          "p",
          "minor",
          premium_includes_fees === true ? "The price includes them." : "Whether the price includes them is unknown."
        )
      ]

/** Whether the quote can still be taken, and how. */
const endOf = (quote: Quote, drawing: Drawing): ReadonlyArray<Child> => {
  const { availability, environment, status, status_details } = quote
  const { expires_at } = availability
  if (status === "inactive") return [element("p", "ended", "No longer available. ", theirs(status_details.message))]
  // A sandbox has a clock of its own.
  if (environment === "live" && expires_at !== null && Date.parse(expires_at) <= drawing.now) {
    return [element("p", "ended", "This price was available until ", moment(expires_at, drawing.timeZone), ".")]
  }
  return [
    expires_at === null
      ? element("p", "minor", "No end date stated")
      : element("p", "minor", "Available until ", moment(expires_at, drawing.timeZone)),
    ...onwardOf(quote, drawing)
  ]
}

/** How to go on at the carrier: a button, or the address as text if it is not secure or the program does not open it. */
const onwardOf = ({ next_actions, source }: Quote, { openLink }: Drawing): ReadonlyArray<Child> => {
  const url = next_actions.find(({ type }) => type === "continue_on_carrier_site")?.url
  if (typeof url !== "string") return []
  const address = element("p", "minor address", "To go on, open ", theirs(url))
  if (!isSecure(url)) return [address]
  const button = element("button", "", "Continue at ", theirs(source.carrier.name, longest_name))
  button.type = "button"
  button.addEventListener("click", async () => {
    if (!(await openLink(url))) button.replaceWith(address)
  })
  return [button]
}

const isSecure = (url: string): boolean => URL.canParse(url) && new URL(url).protocol === "https:"
