import { Json, type Resource } from "@quotewire/core"
import { Predicate } from "effect"
import * as Answer from "./Answer.ts"
import * as CardExtras from "./CardExtras.ts"
import * as Changes from "./Changes.ts"
import { count, joinFirst, more, words } from "./phrases.ts"
import * as QuoteAnswer from "./QuoteAnswer.ts"

type QuoteRequest = Resource.QuoteRequest
type Quote = Resource.Quote
type CarrierResult = QuoteRequest["carriers"][number]

/**
 * A quote request with its quotes: its status, and whether to wait, ask the person or show the quotes.
 *
 * With `since_version` and `only_changes`, the response contains only what changed since that version, because repeated
 * quotes would fill the model's context.
 */
export const present = Answer.make((whole: Resource.QuoteRequestWithQuotes, { input, kind, lines, shows_views }) => {
  const { only_changes, since_version } = input
  const changes =
    only_changes === true && Predicate.isNumber(since_version) ? Changes.since(whole, since_version) : null
  const { quote_request, quotes } = whole
  const questions = questionsIn(quote_request)
  const summary = [
    `Quote request ${quote_request.id} is ${quote_request.status} (version ${quote_request.version}): ${quote_request.status_details.message}`,
    ...(isOver(quote_request) || changes === null
      ? allQuotes(quotes, lines.get(quote_request.line)?.premium_includes_fees === true)
      : newQuotes(changes.quotes)),
    ...(isOver(quote_request) ? withoutQuote(quote_request, kind) : []),
    ...nextOf(quote_request, quotes.length),
    ...(changes === null || !isShortened(changes)
      ? []
      : [
          `quotes and carriers hold only what has changed since version ${changes.version}; to get everything, leave out only_changes.`
        ])
  ].join("\n")
  return {
    summary,
    fields: {
      ...(questions.length > 0 && { questions }),
      ...(changes === null ? { quote_request, quotes: quotes.map(QuoteAnswer.shown) } : changed(quote_request, changes))
    },
    ...(shows_views && {
      card: {
        ...CardExtras.of(quote_request.environment, lines.get(quote_request.line)),
        // The card gets all quotes, because a person compares even the quotes that the model has already read.
        ...(changes !== null && { quote_request, quotes: quotes.map(QuoteAnswer.shown) })
      }
    })
  }
})

/** Describes a request's progress with numbers only. The text contains no carriers and no facts. */
export const progress = (answer: Json.Json<unknown>): string => {
  const { carriers } = Json.read(Json.typed<Resource.QuoteRequestWithQuotes>(answer)).quote_request
  const askedCarriers = carriers.filter(({ outcome }) => outcome !== "not_asked")
  if (askedCarriers.length === 0) return "Waiting to start"
  const answered = askedCarriers.filter(({ outcome }) => outcome !== "pending").length
  return `${answered} of ${count(askedCarriers.length, "carrier")} answered`
}

const isShortened = ({ has_read_carriers, read_quotes }: Changes.Changes): boolean =>
  has_read_carriers || read_quotes.length > 0

/** A request reduced to its changes. `quote_ids` still lists every quote. */
const changed = (quoteRequest: QuoteRequest, changes: Changes.Changes) => {
  const quotes = changes.quotes.map((quote, index) =>
    withoutRepeats(quote, [...changes.read_quotes, ...changes.quotes.slice(0, index)])
  )
  const { carriers } = changes
  if (!isShortened(changes)) return { quote_request: { ...quoteRequest, carriers }, quotes }
  // The other fields never change, and the caller has already read them.
  const { deadline_at, id, next_actions, quote_ids, status, status_details, updated_at, version } = quoteRequest
  return {
    quote_request: { id, version, status, status_details, updated_at, deadline_at, carriers, quote_ids, next_actions },
    quotes,
    changes_since: changes.version
  }
}

/**
 * A quote, shortened if an earlier quote has the same coverage and assumptions. `rest_as_in` then names the earlier
 * quote.
 */
const withoutRepeats = (quote: Quote, earlierQuotes: ReadonlyArray<Quote>) => {
  const earlier = earlierQuotes.find((candidate) => isSame(coverAndAssumptions(candidate), coverAndAssumptions(quote)))
  const quoteAnswer = QuoteAnswer.shown(quote)
  if (earlier === undefined) return quoteAnswer
  const { availability, evidence, id, next_actions, price, source, status, status_details, version } = quoteAnswer
  const { assumptions: _, ...otherEvidence } = evidence
  const ownFields = { id, version, status, status_details, source, price, availability, next_actions }
  return { ...ownFields, evidence: otherEvidence, rest_as_in: earlier.id }
}

const coverAndAssumptions = ({ coverage, evidence }: Quote) => [coverage, evidence.assumptions]

/** Whether two parts of responses have the same JSON. */
const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

const isOver = ({ status }: QuoteRequest): boolean => status === "completed" || status === "failed"

const newQuotes = (quotes: ReadonlyArray<Quote>): ReadonlyArray<string> =>
  quotes.length === 0 ? [] : [`${count(quotes.length, "new quote")}:`, joinFirst(quotes.map(QuoteAnswer.lineOf), "\n")]

/** Describes all quotes, with their coverage and assumptions. What several quotes share is written only once. */
const allQuotes = (quotes: ReadonlyArray<Quote>, includesFees: boolean): ReadonlyArray<string> => {
  if (quotes.length === 0) return []
  const hasFees = quotes.some(({ price }) => price.fees.length > 0)
  return [
    `${count(quotes.length, "quote")}:`,
    joinFirst(quotes.map(QuoteAnswer.lineOf), "\n"),
    ...common("Coverage", quotes, QuoteAnswer.coverOf),
    ...common("Assumed, so tell the person and ask whether it is true", quotes, QuoteAnswer.assumedOf),
    ...(hasFees
      ? [includesFees ? "The prices include the fees." : "Whether the prices include the fees is unknown."]
      : []),
    QuoteAnswer.caution
  ]
}

const common = (
  title: string,
  quotes: ReadonlyArray<Quote>,
  textOf: (quote: Quote) => string
): ReadonlyArray<string> => {
  const texts = Map.groupBy(quotes, textOf)
  return [...texts].flatMap(([text, group]) => {
    if (text === "") return []
    const suffix = texts.size === 1 ? "" : ` (${group.map(({ source }) => source.carrier.name).join(", ")})`
    return [`${title}${suffix}: ${text}.`]
  })
}

/** The carriers without a quote, each with the reason. */
const withoutQuote = ({ carriers }: QuoteRequest, kind: Answer.Reader["kind"]): ReadonlyArray<string> => {
  const linesFor = (outcome: CarrierResult["outcome"], title: string, explain: (result: CarrierResult) => string) => {
    const results = carriers.filter((result) => result.outcome === outcome)
    return results.length === 0
      ? []
      : [
          `${title}: ${joinFirst(
            results.map((result) => `${result.carrier.name} (${explain(result)})`),
            "; "
          )}.`
        ]
  }
  const askedCount = carriers.filter(({ outcome }) => outcome !== "not_asked").length
  return [
    ...(askedCount < carriers.length ? [`${askedCount} of ${count(carriers.length, "carrier")} were asked.`] : []),
    ...linesFor("not_asked", "Not asked", (result) => whyNotAsked(result, kind)),
    ...linesFor("declined", "Declined", ({ message, reason }) => message ?? words(reason ?? "no reason given")),
    ...linesFor("no_answer", "No answer", ({ reason }) => words(reason ?? "no reason given"))
  ]
}

const whyNotAsked = ({ missing_facts, reason }: CarrierResult, kind: Answer.Reader["kind"]): string => {
  if (reason === "credit_disclosure_missing") {
    return kind === "keyless"
      ? "it uses credit information, which callers without a key cannot allow"
      : "it uses credit information: needs credit_disclosure_receipt_id, from the person"
  }
  const explanation = words(reason ?? "no reason given")
  return missing_facts.length === 0 ? explanation : `${explanation}: ${joinFirst(missing_facts, ", ")}`
}

/** The questions that carriers have for the person. */
const questionsIn = ({ carriers, status }: QuoteRequest) =>
  status !== "action_required"
    ? []
    : carriers
        .filter(({ outcome }) => outcome === "needs_information")
        .map(({ carrier, message, missing_facts }) => ({
          carrier_id: carrier.id,
          question: message ?? "The carrier has not said what it wants to know.",
          missing_facts
        }))

const nextOf = (request: QuoteRequest, quotes: number): ReadonlyArray<string> => {
  const { carriers, status, version } = request
  if (status === "in_progress") {
    return [
      `Not finished: call get_quote_request again with since_version ${version} and only_changes true; it waits for the next change.`
    ]
  }
  if (status === "action_required") return questionOf(request)
  if (quotes > 0) return []
  return carriers.length === 0
    ? ["There is no price to show, and no carrier was asked. Tell the person; a new start needs a new request_key."]
    : ["There is no price to show. carriers says what each carrier answered."]
}

/**
 * Tells the model to ask the person the carriers' questions and not to poll. While a request waits for the person,
 * reads return immediately instead of waiting for a change.
 */
const questionOf = (request: QuoteRequest): ReadonlyArray<string> => {
  const { carriers, deadline_at } = request
  const isAwaited = carriers.some(({ outcome }) => outcome === "pending")
  const questions = questionsIn(request).map(
    ({ missing_facts, question }) => `${question}${missing_facts.length === 0 ? "" : ` (${missing_facts.join(", ")})`}`
  )
  return [
    `Ask the person: ${joinFirst(questions, "; ")}`,
    "With the answer, call start_quote_request again: the same facts, the answer added, and a new request_key. This request takes no answer.",
    "Do not call get_quote_request in a loop: while status is action_required it answers immediately, and nothing changes until the person acts.",
    ...(isAwaited && deadline_at !== null
      ? [`Other carriers may still make offers: to see them, read it once more after ${deadline_at}.`]
      : [])
  ]
}

/** A started request: how to wait for quotes, and what to remember. */
export const presentStarted = Answer.summarized((answer: Resource.StartedQuoteRequest) => {
  const { id, quote_consent, read_handle, read_handle_expires_at, status, version } = answer
  const opened = read_handle === undefined ? "" : " and its read_handle"
  return [
    `Quote request ${id} is ${status}: ${answer.status_details.message}`,
    ...(quote_consent === undefined ? [] : [`The person's agreement is recorded as ${quote_consent.receipt_id}.`]),
    ...(read_handle === undefined
      ? []
      : [
          `Keep the read_handle: only it opens this request, until ${read_handle_expires_at}. Do not show it to anyone.`
        ]),
    `Next: call get_quote_request with this id${opened} and since_version ${version}; it waits for quotes, so do not poll.`
  ].join("\n")
})

/** A page of quote requests. */
export const presentPage = Answer.summarized(({ next_cursor, quote_requests }: Resource.QuoteRequestPage) =>
  [
    `${count(quote_requests.length, "quote request")}, newest first.`,
    ...(quote_requests.length === 0
      ? []
      : [
          joinFirst(
            quote_requests.map(
              ({ id, line, status, status_details }) => `${id}: ${line}, ${status} (${status_details.reason})`
            ),
            "\n"
          )
        ]),
    more(next_cursor)
  ].join("\n")
)
