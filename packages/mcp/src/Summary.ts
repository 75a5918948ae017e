import { type ApiError, Json, type Resource } from "@quotewire/core"
import * as Dollars from "./Dollars.ts"

/** Writes the short text that tells a model what an answer holds and what to do next: a few lines, without facts. */
export type Summary = (answer: Json.Json<unknown>) => string

/** Makes a summary of one type of answer. It reads only answers that the operation has encoded. */
const of =
  <A>(write: (answer: A) => string): Summary =>
  (answer) =>
    write(Json.read(Json.typed<A>(answer)))

const most = 6

/** The first few items of a list, and how many more there are. */
const some = (items: ReadonlyArray<string>, separator: string): string =>
  items.length <= most
    ? items.join(separator)
    : `${items.slice(0, most).join(separator)}${separator}and ${items.length - most} more`

const count = (number: number, noun: string, plural = `${noun}s`): string =>
  number === 1 ? `1 ${noun}` : `${number} ${plural}`

const priceOf = ({ premium, term_months }: Resource.Quote["price"]): string => {
  if (premium === null) return "price unknown"
  const price = Dollars.format(premium.amount_minor)
  return term_months === null ? price : `${price} for ${count(term_months, "month")}`
}

const lineOf = (quote: Resource.Quote): string => {
  const { status, source, availability } = quote
  const state = status === "inactive" ? `, not available: ${quote.status_details.message}` : ""
  const end = status === "active" && availability.expires_at !== null ? `, until ${availability.expires_at}` : ""
  return `${source.carrier.name}: ${priceOf(quote.price)}${end}${state} (${quote.id})`
}

const caution =
  "Each price is for the whole term, whatever the billing. A quote is an offer of a price, not coverage, and these are not all carriers of the market."

/** A quote: its price for a person, and how to continue at the carrier. */
export const quote = of((answer: Resource.Quote) => {
  const onward = answer.next_actions.some(({ type }) => type === "continue_on_carrier_site")
  return [
    `${lineOf(answer)}, version ${answer.version}.`,
    ...(onward ? ["To go on, the person opens the url of continue_on_carrier_site themselves, in a new tab."] : []),
    "The price is for the whole term, whatever the billing. A quote is an offer of a price, not coverage; null means unknown."
  ].join("\n")
})

interface RequestWithQuotes {
  readonly quote_request: Resource.QuoteRequest
  readonly quotes: ReadonlyArray<Resource.Quote>
}

/** A quote request: its status, its quotes, and whether to wait, to ask the person, or to show the quotes. */
export const quoteRequest = of(({ quote_request, quotes }: RequestWithQuotes) => {
  const { id, status, status_details, version } = quote_request
  return [
    `Quote request ${id} is ${status} (version ${version}): ${status_details.message}`,
    ...(quotes.length > 0 ? [`${count(quotes.length, "quote")}:`, some(quotes.map(lineOf), "\n"), caution] : []),
    ...nextOf(quote_request, quotes.length)
  ].join("\n")
})

const nextOf = (request: Resource.QuoteRequest, quotes: number): ReadonlyArray<string> => {
  const { status, version } = request
  if (status === "in_progress") {
    return [`Not finished: call get_quote_request again with since_version ${version}; it waits for the next change.`]
  }
  if (status === "action_required") return questionOf(request)
  return quotes === 0 ? ["There is no price to show. carriers says what each carrier answered."] : []
}

/** Whether the answer is about a request that needs an action of the person. */
export const isForThePerson = (json: Json.Json<object>): boolean => {
  const answer = Json.read(Json.typed<Partial<RequestWithQuotes> & Partial<Resource.QuoteRequest>>(json))
  return (answer.quote_request ?? answer).status === "action_required"
}

/** What a model must do about a carrier's question: ask the person, and not poll, because the read would not wait. */
const questionOf = ({ carriers, deadline_at }: Resource.QuoteRequest): ReadonlyArray<string> => {
  const missing = [...new Set(carriers.flatMap(({ missing_facts }) => missing_facts))]
  const isAwaited = carriers.some(({ outcome }) => outcome === "pending")
  return [
    missing.length > 0
      ? `Ask the person for: ${some(missing, ", ")}. The message of each carrier that needs_information says what it wants to know.`
      : "Ask the person what the message of each carrier that needs_information wants to know.",
    "With the answer, call start_quote_request again: the same facts, the answer added, and a new request_key. This request takes no answer.",
    "Do not call get_quote_request in a loop: while status is action_required it answers at once, and nothing changes until the person acts.",
    ...(isAwaited && deadline_at !== null
      ? [`Other carriers may still make offers: to see them, read it once more after ${deadline_at}.`]
      : [])
  ]
}

interface Started extends Resource.QuoteRequest {
  readonly read_handle?: string
  readonly read_handle_expires_at?: string
  readonly quote_consent?: { readonly receipt_id: string }
}

/** A started request: how to wait for quotes, and what to keep. */
export const started = of((answer: Started) => {
  const { id, quote_consent, read_handle, read_handle_expires_at, status, version } = answer
  const opened = read_handle === undefined ? "" : " and its read_handle"
  return [
    `Quote request ${id} is ${status}: ${answer.status_details.message}`,
    ...(quote_consent === undefined ? [] : [`The person's agreement is recorded as ${quote_consent.receipt_id}.`]),
    ...(read_handle === undefined
      ? []
      : [`Keep the read_handle: only it opens this request, until ${read_handle_expires_at}. Show it to nobody.`]),
    `Next: call get_quote_request with this id${opened} and since_version ${version}; it waits for quotes, so do not poll.`
  ].join("\n")
})

interface CapabilitiesAnswer {
  readonly capabilities: {
    readonly line: string
    readonly states: ReadonlyArray<{ readonly code: string; readonly available: boolean }>
    readonly required_facts: ReadonlyArray<{ readonly label: string }>
  }
  readonly quote_disclosure?: { readonly version: string }
}

/** A line's capabilities: the states, what to ask the person, and what they must agree to. */
export const capabilities = of(({ capabilities, quote_disclosure }: CapabilitiesAnswer) => {
  const states = capabilities.states.filter(({ available }) => available).map(({ code }) => code)
  return [
    `${capabilities.line} is quoted in ${count(states.length, "state")}: ${states.join(", ")}.`,
    `Ask the person for: ${capabilities.required_facts.map(({ label }) => label).join("; ")}.`,
    "Put the facts into application as required_facts_schema says. Leave out what the person does not know; never guess.",
    quote_disclosure === undefined
      ? "Before you start: the consents listed in consents, each with a receipt that your own system has recorded."
      : `Before you start: show the person quote_disclosure.text word for word. Only if they agree, send quote_disclosure_version ${quote_disclosure.version} and quote_disclosure_accepted true.`
  ].join("\n")
})

const more = (next_cursor: string | null): string =>
  next_cursor === null ? "This is the end of the list." : "There is more: call again with cursor set to next_cursor."

interface RequestPage {
  readonly quote_requests: ReadonlyArray<Resource.QuoteRequest>
  readonly next_cursor: string | null
}

/** A page of quote requests. */
export const quoteRequests = of(({ quote_requests, next_cursor }: RequestPage) =>
  [
    `${count(quote_requests.length, "quote request")}, newest first.`,
    some(
      quote_requests.map(
        ({ id, line, status, status_details }) => `${id}: ${line}, ${status} (${status_details.reason})`
      ),
      "\n"
    ),
    more(next_cursor)
  ]
    .filter((line) => line !== "")
    .join("\n")
)

/** An accepted report. */
export const feedback = of(({ feedback_id, status }: { readonly feedback_id: string; readonly status: string }) =>
  [`Report ${feedback_id} is ${status}. It changes no quote; nothing more is to be done.`].join("\n")
)

interface LoggedRequests {
  readonly requests: ReadonlyArray<{
    readonly request_id: string
    readonly method: string
    readonly route: string
    readonly operation: string | null
    readonly status: number
    readonly error_code: string | null
  }>
  readonly next_cursor: string | null
}

/** A page of the request log. It lists the refusals. */
export const apiRequests = of(({ next_cursor, requests }: LoggedRequests) => {
  const refused = requests.filter(({ error_code }) => error_code !== null)
  return [
    `${count(requests.length, "call")}, newest first; ${refused.length === 0 ? "none was" : `${refused.length} were`} refused.`,
    ...(refused.length === 0
      ? []
      : [
          some(
            refused.map(
              (call) => `${call.request_id}: ${call.operation ?? call.route} ${call.status} ${call.error_code}`
            ),
            "\n"
          )
        ]),
    more(next_cursor)
  ].join("\n")
})

interface TestSent {
  readonly subscription_id: string
  readonly event: { readonly id: string }
}

/** A queued test event. */
export const testSent = of(({ event, subscription_id }: TestSent) =>
  [
    `Test event ${event.id} was handed to delivery for ${subscription_id}.`,
    "Next: get_event_delivery with this event_id shows how the endpoint answered."
  ].join("\n")
)

interface DeliveryLog {
  readonly deliveries: ReadonlyArray<{
    readonly event_id: string
    readonly event_type: string
    readonly status: string
  }>
  readonly next_cursor: string | null
}

/** A page of a delivery log: how many have each status, and which have failed. */
export const deliveries = of(({ deliveries, next_cursor }: DeliveryLog) => {
  const statuses = Map.groupBy(deliveries, ({ status }) => status)
  const counts = Array.from(statuses, ([status, group]) => `${group.length} ${status}`).join(", ")
  const wrong = deliveries.filter(({ status }) => status === "failed" || status === "retrying")
  return [
    `${count(deliveries.length, "delivery", "deliveries")}, newest first${counts === "" ? "" : `: ${counts}`}.`,
    ...(wrong.length === 0
      ? []
      : [
          some(
            wrong.map((one) => `${one.event_id}: ${one.event_type} ${one.status}`),
            "\n"
          )
        ]),
    more(next_cursor)
  ].join("\n")
})

interface DeliveryWithAttempts {
  readonly event_id: string
  readonly event_type: string
  readonly status: string
  readonly next_attempt_at: string | null
  readonly attempts: ReadonlyArray<{ readonly status: string; readonly response_status_code: number | null }>
}

/** One delivery: the result of its newest attempt, and when the next one is due. */
export const delivery = of((answer: DeliveryWithAttempts) => {
  const [newest] = answer.attempts
  const answered = newest?.response_status_code ?? null
  return [
    `Delivery of ${answer.event_id} (${answer.event_type}) is ${answer.status} after ${count(answer.attempts.length, "attempt")}.`,
    ...(newest === undefined
      ? []
      : [`The newest attempt ${newest.status}: ${answered === null ? "no HTTP answer" : `HTTP ${answered}`}.`]),
    ...(answer.next_attempt_at === null ? [] : [`The next attempt is at ${answer.next_attempt_at}.`])
  ].join("\n")
})

/** A queued replay. */
export const replayed = of(
  ({ event_id, subscription_id }: { readonly event_id: string; readonly subscription_id: string }) =>
    [
      `Event ${event_id} was handed to delivery again for ${subscription_id}, with the same id and body.`,
      "Next: get_event_delivery shows how the endpoint answered."
    ].join("\n")
)

interface Health {
  readonly subscription_id: string
  readonly state: string
  readonly reason: string
}

/** The health of an endpoint, with its reason. */
export const health = of(({ reason, state, subscription_id }: Health) => `${subscription_id} is ${state}: ${reason}`)

/** Advice for refusals that is more specific than their retry actions. */
const advice: { readonly [code in ApiError.ErrorCode]?: string } = {
  needs_information: "Ask the person for these facts, then call again. Never guess a fact.",
  not_found: "Check the id, and the read_handle where the tool takes one."
}

/** A refusal: what was wrong, and what to do about it. */
export const refusal = ({ error }: ApiError.ErrorEnvelope, retry_after_seconds: number | null): string => {
  const fields = (error.field_errors ?? []).map(({ path, message, allowed_values }) => {
    const allowed = allowed_values === undefined ? "" : ` Allowed: ${some(allowed_values, ", ")}.`
    return path === "" ? message : `${path}: ${message}${allowed}`
  })
  return [
    `Refused (${error.code}): ${error.message}`,
    ...fields.slice(0, most),
    ...(fields.length > most ? ["field_errors names more."] : []),
    ...(retry_after_seconds === null ? [] : [`Wait ${count(retry_after_seconds, "second")} first.`]),
    advice[error.code] ?? error.retry_action.summary
  ].join("\n")
}
