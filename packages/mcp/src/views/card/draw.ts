import { count, words } from "../../answers/phrases.ts"
import { drawCover } from "./drawCover.ts"
import { type DrawContext, drawQuote, part, texts } from "./drawQuote.ts"
import { type Child, element, foldable, isolated, list, longestName, moment } from "./elements.ts"
import type { Quote, QuoteRequest, Result } from "./Result.ts"
import * as Shared from "./Shared.ts"

/** What the page shows. */
export interface Drawn {
  readonly title: string
  /** The request's status as a sentence, which screen readers announce. */
  readonly state: ReadonlyArray<Child>
  readonly body: ReadonlyArray<Child>
}

/** Draws a tool's result. Quotes stay in the order of the response, and no quote is highlighted. */
export const draw = (result: Result, context: Omit<DrawContext, "premium_includes_fees" | "is_alone">): Drawn => {
  if (result._tag === "message") return { title: result.title, state: [isolated(result.text)], body: [] }
  const { extras, questions, quotes, request } = result
  const shared = Shared.of(quotes)
  const quoteContext = {
    ...context,
    premium_includes_fees: extras.premium_includes_fees,
    is_alone: quotes.length === 1
  }
  return {
    title: `${titleOf(request, quotes.length)}${shared.is_sandbox ? " (sandbox)" : ""}`,
    state: request === null ? [] : stateOf(request, quotes.length, context.timeZone),
    body: [
      ...section("question", "A carrier asks", textItems(questions.map(({ question }) => question))),
      ...(quotes.length === 0
        ? []
        : [
            ...[...shared.comparisons].map((label) => element("p", "minor", isolated(label))),
            list(
              "quotes",
              quotes.map((quote) => [drawQuote(quote, shared, quoteContext)])
            )
          ]),
      ...foldedSection("shared", "The same for every quote", sharedParts(quotes, shared)),
      ...section("", "Carriers without a quote", request === null ? [] : listed(withoutQuote(request, shared))),
      ...section("notices", "Good to know", textItems([...shared.labels, ...extras.notices]))
    ]
  }
}

/** A section, or nothing if it would be empty. */
const section = (className: string, title: string, children: ReadonlyArray<Child>): ReadonlyArray<Child> =>
  children.length === 0 ? [] : [element("section", className, element("h2", "", title), ...children)]

/** A section that is collapsed to its title. */
const foldedSection = (className: string, title: string, children: ReadonlyArray<Child>): ReadonlyArray<Child> =>
  children.length === 0 ? [] : [element("section", className, foldable(element("h2", "", title), false, ...children))]

const listed = (items: ReadonlyArray<ReadonlyArray<Child>>): ReadonlyArray<Child> =>
  items.length === 0 ? [] : [list("", items)]

const textItems = (items: ReadonlyArray<string>): ReadonlyArray<Child> => listed(items.map((item) => [isolated(item)]))

const sharedParts = ([first]: ReadonlyArray<Quote>, shared: Shared.SharedParts): ReadonlyArray<Child> => {
  const cover = first === undefined ? [] : drawCover(first.coverage.subjects, (key) => shared.covers.has(key))
  return [
    ...(cover.length === 0 ? [] : [part("Coverage", ...cover)]),
    ...texts("Conditions", [...shared.conditions]),
    ...texts("Assumed, so check that it is true", [...shared.assumptions])
  ]
}

const titleOf = (request: QuoteRequest | null, quotes: number): string => {
  if (request === null) return "A quote"
  if (quotes > 0) return count(quotes, "quote")
  return request.status === "completed" || request.status === "failed" ? "No quotes" : "No quotes yet"
}

const stateOf = (request: QuoteRequest, quotes: number, timeZone: string | undefined): ReadonlyArray<Child> => {
  const askedCarriers = request.carriers.filter(({ outcome }) => outcome !== "not_asked")
  const answered = askedCarriers.filter(({ outcome }) => outcome !== "pending").length
  return [
    isolated(request.status_details.message),
    ...(request.status === "in_progress" && askedCarriers.length > 0
      ? [` ${answered} of ${count(askedCarriers.length, "carrier")} answered.`]
      : []),
    ...(quotes > 1 ? [" The order is not a ranking."] : []),
    " As of ",
    moment(request.updated_at, timeZone),
    "."
  ]
}

/** The carriers without a quote, each with the reason. */
const withoutQuote = ({ carriers }: QuoteRequest, shared: Shared.SharedParts): ReadonlyArray<ReadonlyArray<Child>> =>
  carriers
    .filter(({ outcome }) => outcome !== "quoted")
    .map((result) => [
      element("strong", "", isolated(Shared.nameOf(result.carrier, shared), longestName)),
      " ",
      ...whyNot(result)
    ])

const whyNot = ({
  message,
  missing_facts,
  outcome,
  reason
}: QuoteRequest["carriers"][number]): ReadonlyArray<Child> => {
  if (outcome === "pending") return ["has not answered yet."]
  const explanation =
    message !== null ? isolated(message) : isolated(reason === null ? "no reason given" : words(reason))
  // Shows the carrier's message if there is one, because it is easier to read than the paths of facts.
  const facts = message !== null || missing_facts.length === 0 ? [] : [" (", isolated(missing_facts.join(", ")), ")"]
  return [titles[outcome] ?? `${words(outcome)}: `, explanation, ...facts]
}

const titles: Readonly<Record<string, string>> = {
  declined: "declined: ",
  needs_information: "has a question: ",
  no_answer: "gave no answer: ",
  not_asked: "was not asked: "
}
