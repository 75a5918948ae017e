import type { AnswerOf } from "@quotewire/http/client"

type RequestWithQuotes = AnswerOf<"get_quote_request">
type Quote = AnswerOf<"get_quote">
type Money = NonNullable<Quote["price"]["premium"]>

const amount = ({ amount_minor, currency }: Money): string =>
  new Intl.NumberFormat("en-US", { style: "currency", currency }).format(amount_minor / 100)

const priceOf = ({ premium, term_months }: Quote["price"]): string => {
  if (premium === null) return "price unknown"
  if (term_months === null) return amount(premium)
  return `${amount(premium)} for ${term_months === 1 ? "a month" : `${term_months} months`}`
}

/** Formats the monthly price, because only that price makes offers with different terms comparable. */
const monthOf = ({ comparison }: Quote["price"]): ReadonlyArray<string> =>
  comparison === null ? [] : [`${amount(comparison.amount)} a month`]

const expiryOf = ({ availability: { expires_at } }: Quote): string => expires_at ?? "unknown"

const lineOf = (details: Quote): string =>
  [
    `  ${details.id}`,
    details.source.carrier.name,
    ...monthOf(details.price),
    priceOf(details.price),
    details.status === "active"
      ? `valid until ${expiryOf(details)}`
      : `${details.status} (${details.status_details.reason})`
  ].join("  ")

/** Formats a quote request as one line. */
export const listed = ({ id, line, status, status_details }: RequestWithQuotes["quote_request"]): string =>
  `${id}  ${line}: ${status} (${status_details.reason}). ${status_details.message}`

/** Formats a quote request and its quotes, one line for each. */
export const request = ({ quote_request, quotes }: RequestWithQuotes): ReadonlyArray<string> => [
  listed(quote_request),
  ...quotes.map(lineOf)
]

/** Formats a quote request that has just started as one line. */
export const started = ({ id, line, scenario }: RequestWithQuotes["quote_request"]): string =>
  `${id}  ${line}: started with the scenario ${scenario}`

const row = (name: string, value: string): string => `${name.padEnd(13)}${value}`

/** Formats the rows of a list. Only the first row shows the list's name. */
const rows = (name: string, values: ReadonlyArray<string>): ReadonlyArray<string> =>
  values.map((value, index) => row(index === 0 ? name : "", value))

const words = (code: string): string => code.replaceAll("_", " ")

type Subject = Quote["coverage"]["subjects"][number]

/** Describes one coverage: its limit and deductible, or that it is not part of the offer. */
const coverOf = ({ code, deductible, included, limit }: Subject["coverages"][number]): string => {
  if (included === false) return `${words(code)}: not covered`
  const parts = [
    ...(included === null ? ["not stated"] : []),
    ...(limit === null ? [] : [`up to ${amount(limit)}`]),
    ...(deductible === null ? [] : [`${amount(deductible)} deductible`])
  ]
  return parts.length === 0 ? words(code) : `${words(code)}: ${parts.join(", ")}`
}

/** Describes the coverages of each subject. If there are several subjects, each begins with its ID. */
const coversOf = ({ coverage: { subjects } }: Quote): ReadonlyArray<string> =>
  subjects.flatMap(({ coverages, subject_id }) => [
    ...(subjects.length === 1 ? [] : [subject_id]),
    ...coverages.map((cover) => `${subjects.length === 1 ? "" : "  "}${coverOf(cover)}`)
  ])

/** Formats a quote as rows of text, with its price, coverages, assumptions, expiry and next actions. */
export const quote = (details: Quote): ReadonlyArray<string> => {
  const { comparison, fees } = details.price
  return [
    `${details.id}  version ${details.version}: ${details.status} (${details.status_details.reason}). ${details.status_details.message}`,
    row("carrier", details.source.carrier.name),
    ...(details.source.product === null ? [] : [row("product", details.source.product)]),
    ...(comparison === null ? [] : [row("per month", `${amount(comparison.amount)}: ${comparison.label}`)]),
    row("price", priceOf(details.price)),
    ...rows(
      "fees",
      fees.map((fee) => `${words(fee.code)}: ${amount(fee.amount)}`)
    ),
    ...rows("coverages", coversOf(details)),
    row("expires", expiryOf(details)),
    ...rows("conditions", details.coverage.conditions),
    ...rows(
      "assumed",
      details.evidence.assumptions.map(({ label, path, value }) => label ?? `${path}: ${value}`)
    ),
    ...rows(
      "next",
      details.next_actions.map(({ type, url }) => (url === undefined ? type : `${type}  ${url}`))
    ),
    row("request", details.quote_request_id)
  ]
}
