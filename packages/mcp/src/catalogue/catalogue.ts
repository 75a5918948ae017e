import type { Line } from "@quotewire/core"
import * as CapabilitiesAnswer from "../answers/CapabilitiesAnswer.ts"
import * as LogAnswers from "../answers/LogAnswers.ts"
import * as QuoteAnswer from "../answers/QuoteAnswer.ts"
import * as QuoteRequestAnswer from "../answers/QuoteRequestAnswer.ts"
import * as WebhookAnswers from "../answers/WebhookAnswers.ts"
import * as StartQuestions from "../forms/StartQuestions.ts"
import * as ApplicationSchema from "../tools/ApplicationSchema.ts"
import type { Annotations, ToolAudience } from "../tools/Tool.ts"
import type { ArgumentMapping } from "../tools/ToolInput.ts"
import { quoteCard } from "../views/quoteCard.ts"
import type { Definition } from "./OperationTool.ts"

const reads: Annotations = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false }
const sends: Annotations = { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true }

// The mapping for a tool whose arguments are exactly its operation's fields.
const unchanged: ArgumentMapping = { named: {}, read_handle: false, request_key: false }
const withHandle: ArgumentMapping = { ...unchanged, read_handle: true }
const withSubscription: ArgumentMapping = { ...unchanged, named: { subscription_id: "id" } }
const withSubscriptionAndKey: ArgumentMapping = { ...withSubscription, request_key: true }

/**
 * Whether a caller needs a quote request's read handle to read that request: all callers without a server key do
 * (api.md, Read handles).
 */
const needsHandle = ({ kind }: ToolAudience): boolean => kind !== "server"
const requiredHandle = (audience: ToolAudience) => (needsHandle(audience) ? ["read_handle"] : [])
const hiddenHandle = (audience: ToolAudience) => (needsHandle(audience) ? [] : ["read_handle"])

const pageNotes = {
  limit: "How many to list, 1 to 100; 10 by default.",
  cursor: "The next_cursor of the previous page, with the same other arguments; leave it out for the first page."
}
const aboutNotes = {
  quote_request_id: "Only entries about this request or its quotes, qreq_…",
  quote_id: "Only entries about this quote, qt_…"
}
const subscriptionNotes = { subscription_id: "The event subscription, sub_…" }
const handleNote = "From start_quote_request."

/** Lists the names of the host's insurance lines that satisfy a condition. */
const linesWhere = ({ lines }: ToolAudience, holds: (line: Line.Line) => boolean): string =>
  [...lines.values()].flatMap((line) => (holds(line) ? [line.name] : [])).join(", ")

const getCapabilities: Definition = {
  name: "get_capabilities",
  title: "See what an insurance line offers",
  description: ({ kind }) =>
    [
      "Reads what one insurance line offers: states, required_facts, consents, disclosures. Call it first, with the person's state if you know it, and ask the person only for what it lists.",
      kind === "keyless"
        ? "Show its quote_disclosure.text to the person word for word before start_quote_request; only the person can agree."
        : "Its consents are given by the person and recorded by your own system; you cannot give them."
    ].join(" "),
  annotations: reads,
  arguments: unchanged,
  notes: {
    line: ({ lines }) =>
      `One of ${Array.from(lines.values(), ({ name, insures }) => `${name} (${insures})`).join(", ")}.`,
    state: "The person's state, such as TX. It makes the answer much shorter."
  },
  schemas: () => ({ state: { type: "string" } }),
  present: CapabilitiesAnswer.present
}

const receipts = ["consent_receipt_id", "credit_disclosure_receipt_id", "contact_consent", "contact_channels"]
const agreement = ["quote_disclosure_version", "quote_disclosure_accepted"]

const creditNote = (audience: ToolAudience): string => {
  const lines = linesWhere(audience, (line) => line.has_credit_disclosure)
  if (lines === "") return "Leave it out: no line has a credit disclosure."
  return `${lines} only: the receipt that the person has read the credit disclosure. Without it, carriers that use credit information are not asked.`
}

const startQuoteRequest: Definition = {
  name: "start_quote_request",
  title: "Start a quote request",
  description: ({ elicits, environment, kind }) =>
    [
      "Sends the facts about one person to insurance carriers, which offer prices in the background. It buys nothing and binds nobody. Use it after get_capabilities, once the person has given the facts and the consent.",
      kind === "keyless"
        ? elicits
          ? "The program shows the person the disclosure and asks whether they agree: you cannot agree for them."
          : "First show the person quote_disclosure.text of get_capabilities word for word. Send quote_disclosure_accepted true only if the person agreed: you cannot agree for them."
        : "Consent comes from the person and is recorded by your own system as a receipt: never invent a receipt, and never send one receipt in two fields.",
      "Never guess a fact: leave out what the person does not know, and every quote reports what was assumed. Missing required facts are refused before any carrier is asked.",
      "Then wait with get_quote_request.",
      ...(kind === "server" ? [] : ["Keep the read_handle of the response: only it opens this request."]),
      ...(environment === "sandbox" ? ["This is a sandbox: carriers and prices are fictional."] : [])
    ].join(" "),
  annotations: sends,
  arguments: unchanged,
  notes: {
    line: "The line of get_capabilities.",
    request_key:
      "A new UUID for each start call. To repeat a call that got no response, send the same request_key and input.",
    consent_receipt_id: "The receipt of the person's consent to get quotes, from your own records. Never invent one.",
    credit_disclosure_receipt_id: creditNote,
    contact_consent: "The receipt of the person's consent to be contacted, and the channels it covers.",
    contact_channels: "The channels to use; true only for channels in contact_consent.channels.",
    quote_disclosure_version: "The quote_disclosure.version that the person has read.",
    quote_disclosure_accepted: "true once the person has agreed.",
    scenario: "For tests: a named outcome to play."
  },
  schemas: (lines) => ({ application: ApplicationSchema.of(lines) }),
  hidden: ({ elicits, environment, kind }) => [
    ...(kind === "keyless" ? receipts : agreement),
    ...(elicits ? agreement : []),
    ...(environment === "sandbox" ? [] : ["scenario"])
  ],
  required: ({ elicits, kind }) => (kind !== "keyless" ? ["consent_receipt_id"] : elicits ? [] : agreement),
  questions: StartQuestions,
  present: QuoteRequestAnswer.presentStarted
}

const getQuoteRequest: Definition = {
  name: "get_quote_request",
  title: "Wait for quotes and read them",
  description: () =>
    "Reads a quote request, each carrier's answer and the quotes. While it is in_progress the call waits for a change: send since_version and only_changes. Stop when status is completed or failed; completed can mean zero quotes. When it is action_required a person has to act first: do what summary says, and do not call in a loop. Show price.display and what was assumed; do not rank, recommend or call a quote coverage. null means unknown: never fill it in.",
  annotations: reads,
  arguments: { ...withHandle, shaping: ["only_changes"] },
  schemas: () => ({ only_changes: { type: "boolean" } }),
  notes: {
    id: "The quote request, qreq_…",
    wait_seconds: "How long to wait for a change, 20 by default.",
    since_version: "The version that you have read.",
    only_changes: "true to omit quotes that you have already read.",
    read_handle: handleNote
  },
  hidden: hiddenHandle,
  required: requiredHandle,
  progress: QuoteRequestAnswer.progress,
  view: quoteCard,
  present: QuoteRequestAnswer.present
}

const listQuoteRequests: Definition = {
  name: "list_quote_requests",
  title: "List quote requests",
  description: () =>
    "Lists the quote requests of this workspace, newest first, without quotes. Use it to find a request whose id you do not have; to follow one request use get_quote_request. A page can be short and yet have a next_cursor: read until it is null.",
  annotations: reads,
  arguments: unchanged,
  notes: {
    ...pageNotes,
    status: "Only requests with this status.",
    line: "Only requests for this line.",
    created_after: "RFC 3339 with offset, such as 2026-09-26T00:00:00Z.",
    created_before: "RFC 3339 with offset.",
    updated_since: "RFC 3339 with offset: only requests changed since then."
  },
  present: QuoteRequestAnswer.presentPage
}

const feesNote = (audience: ToolAudience): string => {
  const lines = linesWhere(audience, (line) => line.premium_includes_fees)
  if (lines === "") return "It is unknown whether the premium includes the fees."
  return `On quotes of ${lines} the premium includes the fees; on other lines that is unknown.`
}

const getQuote: Definition = {
  name: "get_quote",
  title: "Read a quote",
  description: (audience) =>
    `Reads one quote: price, coverage, expiry, what was assumed, and where to continue. Use it for details, or to see whether a quote is still active. price.premium is for the whole term_months, in US cents. ${feesNote(audience)} A quote is an offer of a price, not coverage. null means unknown.`,
  annotations: reads,
  arguments: withHandle,
  notes: {
    id: "The quote, qt_…",
    version: "A version to read; the newest by default.",
    read_handle: handleNote
  },
  hidden: hiddenHandle,
  required: requiredHandle,
  view: quoteCard,
  present: QuoteAnswer.present
}

const sendFeedback: Definition = {
  name: "send_feedback",
  title: "Report a problem with this API",
  description: () =>
    "Tells the people who run this API about a bug, a missing feature or something unclear. Use it when a tool did not do what it says. Write nothing about a person: ID, license and card numbers are refused. It changes no quote.",
  annotations: { ...sends, idempotentHint: false, openWorldHint: false },
  arguments: unchanged,
  notes: {
    kind: "What the report is about.",
    summary: "One sentence, at most 200 characters.",
    expected: "What you expected.",
    actual: "What happened instead.",
    tried: "What you tried, and request_ids of its responses.",
    agent: "Your name and version."
  },
  schemas: () => ({
    tried: {
      type: "object",
      properties: {
        operation: { type: "string" },
        tool: { type: "string" },
        request_ids: { type: "array", items: { type: "string" } }
      }
    }
  }),
  present: LogAnswers.feedback
}

const listApiRequests: Definition = {
  name: "list_api_requests",
  title: "Read the request log",
  description: () =>
    "Lists the recent API calls of this organization, newest first, for 30 days: operation, status, error code and duration, never a body. Use it to find out why calls of an integration are refused.",
  annotations: reads,
  arguments: unchanged,
  notes: {
    ...pageNotes,
    status: "Only calls with this HTTP status.",
    operation: "Only calls of this operation, such as start_quote_request.",
    error_code: "Only calls refused with this code.",
    since: "RFC 3339 with offset: only calls at or after this time.",
    ...aboutNotes
  },
  present: LogAnswers.apiRequests
}

const requestKeyNote =
  "Your own ID for this call, a new UUID for each. To repeat a call that got no response, send the same request_key."

const sendTestEvent: Definition = {
  name: "send_test_event",
  title: "Send a test event to a webhook",
  description: () =>
    "Sends a webhook.test event to one subscription's endpoint, to see whether it receives and confirms events: at most ten a minute. Then read get_event_delivery with the event's id. The same request_key sends no second event.",
  annotations: sends,
  arguments: withSubscriptionAndKey,
  notes: { ...subscriptionNotes, request_key: requestKeyNote },
  present: WebhookAnswers.testSent
}

const listEventDeliveries: Definition = {
  name: "list_event_deliveries",
  title: "Read a webhook's delivery log",
  description: () =>
    "Lists the deliveries to one subscription in the last 30 days, newest first, test events included. Use it to see which events did not arrive. A page can be empty and yet have a next_cursor: read until it is null.",
  annotations: reads,
  arguments: withSubscription,
  notes: { ...pageNotes, ...subscriptionNotes, ...aboutNotes },
  present: WebhookAnswers.deliveries
}

const eventNotes = { ...subscriptionNotes, event_id: "The event, evt_…, as the delivery log names it." }

const getEventDelivery: Definition = {
  name: "get_event_delivery",
  title: "Read one webhook delivery",
  description: () =>
    "Reads the delivery of one event to one subscription with up to 20 attempts, newest first: the HTTP status that the endpoint gave and how long it took. A response_status_code of null means that there was no HTTP response.",
  annotations: reads,
  arguments: withSubscription,
  notes: eventNotes,
  present: WebhookAnswers.delivery
}

const replayEventDelivery: Definition = {
  name: "replay_event_delivery",
  title: "Send an event to a webhook again",
  description: () =>
    "Sends an event of the delivery log to its subscription again, with the same id and body: at most five times a day for an event. Use it after the endpoint has been fixed.",
  annotations: sends,
  arguments: withSubscriptionAndKey,
  notes: { ...eventNotes, request_key: requestKeyNote },
  present: WebhookAnswers.replayed
}

const getEventSubscriptionHealth: Definition = {
  name: "get_event_subscription_health",
  title: "Read a webhook's health",
  description: () =>
    "Reports how one subscription's endpoint is doing: healthy, failing, disabled or no_endpoint, with the reason and the latest attempt. Look here first when events do not arrive.",
  annotations: reads,
  arguments: withSubscription,
  notes: subscriptionNotes,
  present: WebhookAnswers.health
}

/** Every tool, in the order in which they are listed (api.md, Tools). Each has the name of its operation. */
export const catalogue: ReadonlyArray<Definition> = [
  getCapabilities,
  startQuoteRequest,
  getQuoteRequest,
  listQuoteRequests,
  getQuote,
  sendFeedback,
  listApiRequests,
  sendTestEvent,
  listEventDeliveries,
  getEventDelivery,
  replayEventDelivery,
  getEventSubscriptionHealth
]
