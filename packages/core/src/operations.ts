import { Effect, Schema } from "effect"
import type { CallerKind } from "./access/Caller.ts"
import { Seal } from "./access/sealing/Seal.ts"
import * as Operation from "./calls/Operation.ts"
import * as RequestLogOperations from "./calls/RequestLogOperations.ts"
import { CarrierAdapters } from "./carriers/Carrier.ts"
import * as OwnCarrierScenarios from "./carriers/OwnCarrierScenarios.ts"
import { namesOf } from "./carriers/Scenario.ts"
import { EventPage, FeedInput } from "./events/EventPage.ts"
import { Events } from "./events/Events.ts"
import * as Feedback from "./feedback/FeedbackOperations.ts"
import { find, Lines } from "./lines/Lines.ts"
import { createPartnerLink } from "./partners/PartnerLinkOperations.ts"
import * as Capabilities from "./quoting/Capabilities.ts"
import * as Consent from "./quoting/Consent.ts"
import { Quote } from "./quoting/Quote.ts"
import { QuoteRequests } from "./quoting/QuoteRequests.ts"
import {
  CancelResult,
  GetInput,
  ListInput,
  QuoteRequestPage,
  QuoteRequestWithQuotes
} from "./quoting/QuoteRequestViews.ts"
import { QuoteStarts } from "./quoting/QuoteStarts.ts"
import { Quotes } from "./quoting/Quotes.ts"
import { PreviewInput, preview, RevisionPreview } from "./quoting/RevisionPreview.ts"
import * as Start from "./quoting/Start.ts"
import { Sandbox } from "./sandbox/Sandbox.ts"
import { ControlResult, SandboxWorkspace, ScenarioList } from "./sandbox/SandboxViews.ts"
import { getQuoteRequestTimeline } from "./timeline/TimelineOperations.ts"
import { ReplayCode } from "./webhooks/deliveries/EventReplay.ts"
import * as Webhooks from "./webhooks/WebhookOperations.ts"
import { aboutQuery } from "./wire/AboutIds.ts"
import { Nothing, wholeNumber } from "./wire/Input.ts"
import * as Json from "./wire/Json.ts"

const everyone: ReadonlyArray<CallerKind> = ["server", "widget", "platform", "keyless"]
const withKey: ReadonlyArray<CallerKind> = ["server", "widget", "platform"]
const server: ReadonlyArray<CallerKind> = ["server"]
const sandboxServer: Operation.Authority = { callers: server, environment: "sandbox" }

const page = { limit: "integer", cursor: "string" } as const

/** Reads what a line offers: states, facts, consents and codes (api.md, Capabilities). */
export const getCapabilities = Operation.make({
  name: "get_capabilities",
  summary: "Read what a line offers",
  description:
    "The states, the facts that a price needs with their JSON Schema, the consents and the disclosures of one line. Read it before you ask a person anything.",
  tag: "Quoting",
  route: { method: "GET", path: "/v1/capabilities", query: { line: "string", state: "string" }, status: 200 },
  authority: { callers: everyone },
  cost: { read: 1 },
  idempotent: false,
  input: Capabilities.CapabilitiesInput,
  output: Capabilities.CapabilitiesAnswer,
  errors: [],
  run: Effect.fnUntraced(function* ({ caller, revision }, input) {
    const line = yield* Effect.fromResult(find(yield* Lines, input.line))
    const adapters = yield* CarrierAdapters
    const seal = yield* Seal
    const capabilities = Capabilities.of(line, { environment: caller.environment, adapters }, revision, input.state)
    if (caller.kind !== "keyless") return Json.encode({ capabilities })
    const quote_disclosure = Consent.quoteDisclosure(yield* seal.hash(Consent.quoteDisclosureText))
    return Json.encode({ capabilities, quote_disclosure })
  })
})

/** Starts a quote request (api.md, Start). */
export const startQuoteRequest = Operation.make({
  name: "start_quote_request",
  summary: "Start a quote request",
  description:
    "Accepts the facts about one person for one line and asks carriers in the background. Missing facts are refused with needs_information before any carrier is asked. Repeating a request_key with the same input returns the existing request as it is now.",
  tag: "Quoting",
  route: {
    method: "POST",
    path: "/v1/quote-requests",
    query: {},
    status: 202,
    location: (id) => `/v1/quote-requests/${id}`
  },
  authority: { callers: everyone },
  cost: { start: 1 },
  idempotent: false,
  optimistic: true,
  input: Start.StartInput,
  output: Start.StartedQuoteRequest,
  validateRest: (call, input, refused) =>
    Effect.map(QuoteStarts, (starts) => starts.validateRest(call, input, refused)),
  refuse: Consent.refuse,
  about: "quote_request",
  errors: ["conflict", "needs_information"],
  run: (call, input) => QuoteStarts.use((starts) => starts.start(call, input))
})

/** Reads a quote request with its quotes, optionally waiting for a change (api.md, Waiting). */
export const getQuoteRequest = Operation.make({
  name: "get_quote_request",
  summary: "Read a quote request with its quotes",
  description:
    "The request, its carriers' results and the newest version of each quote. While the request is in progress the answer waits for a change, up to wait_seconds; with since_version it waits until the version is greater.",
  tag: "Quoting",
  route: {
    method: "GET",
    path: "/v1/quote-requests/{id}",
    query: { wait_seconds: "integer", since_version: "integer" },
    status: 200
  },
  authority: { callers: everyone, by_handle: true, by_link: "id" },
  cost: { read: 1 },
  idempotent: false,
  input: GetInput,
  output: QuoteRequestWithQuotes,
  about: "quote_request",
  errors: ["not_found"],
  run: (call, input) => QuoteRequests.use((requests) => requests.get(call, input))
})

/** Lists quote requests, newest first (api.md, Listing quote requests). */
export const listQuoteRequests = Operation.make({
  name: "list_quote_requests",
  summary: "List quote requests",
  description:
    "Newest first. The filters must be sent with every page. A page can be short and yet have a next_cursor: read until next_cursor is null.",
  tag: "Quoting",
  route: {
    method: "GET",
    path: "/v1/quote-requests",
    query: {
      ...page,
      status: "string",
      line: "string",
      created_after: "string",
      created_before: "string",
      updated_since: "string"
    },
    status: 200
  },
  authority: { callers: server },
  cost: { read: 1 },
  idempotent: false,
  input: ListInput,
  output: QuoteRequestPage,
  errors: ["invalid_cursor"],
  run: (call, input) => QuoteRequests.use((requests) => requests.list(call, input))
})

/** Cancels a quote request that is still queued (api.md, Cancellation). */
export const cancelQuoteRequest = Operation.make({
  name: "cancel_quote_request",
  summary: "Cancel a quote request",
  description: "Cancels a request that has not started yet. Otherwise returns cannot_stop and changes nothing.",
  tag: "Quoting",
  route: { method: "POST", path: "/v1/quote-requests/{id}/cancel", query: {}, status: 200 },
  authority: { callers: withKey, by_handle: true },
  cost: { other: 1 },
  idempotent: false,
  input: Schema.Struct({ id: Schema.String.annotateKey({ description: "The quote request, `qreq_…`" }) }),
  output: CancelResult,
  about: "quote_request",
  errors: ["not_found", "conflict"],
  run: (call, { id }) => QuoteRequests.use((requests) => requests.cancel(call, id))
})

/** Reads a quote (api.md, Quote record). */
export const getQuote = Operation.make({
  name: "get_quote",
  summary: "Read a quote",
  description:
    "One carrier's price offer: not coverage, and not a market comparison. The newest version by default; older versions never change.",
  tag: "Quoting",
  route: { method: "GET", path: "/v1/quotes/{id}", query: { version: "integer" }, status: 200 },
  authority: { callers: everyone, by_handle: true },
  cost: { read: 1 },
  idempotent: false,
  input: Schema.Struct({
    id: Schema.String.annotateKey({ description: "The quote, `qt_…`" }),
    version: Schema.optionalKey(wholeNumber(1)).annotateKey({
      description: "The version to read; the newest by default"
    })
  }),
  output: Quote,
  about: "quote",
  errors: ["not_found"],
  run: (call, input) => Quotes.use((quotes) => quotes.get(call, input))
})

/** Shows a quote in the form of each served revision (api.md, Previewing revisions). */
export const previewRevisions = Operation.make({
  name: "preview_revisions",
  summary: "Preview the revisions",
  description:
    "A quote, and the oldest event about it, as each served revision shows them: compare them before you send a newer Service-Version.",
  tag: "Quoting",
  route: { method: "GET", path: "/v1/quotes/{id}/revisions", query: {}, status: 200 },
  authority: { callers: server },
  cost: { read: 2 },
  idempotent: false,
  input: PreviewInput,
  output: RevisionPreview,
  about: "quote",
  errors: ["not_found"],
  run: (call, input) =>
    Effect.flatMap(Effect.all({ quotes: Quotes, events: Events }), (reads) => preview(reads, call, input))
})

/** Reads the event feed (api.md, Event feed). */
export const listEvents = Operation.make({
  name: "list_events",
  summary: "Read the event feed",
  description:
    "Every event of the last 30 days in one stable order. Without a cursor, it starts at the oldest event; with from=newest, at the newest ones. Store next_cursor once a page's work is saved. An empty page means that you have caught up.",
  tag: "Events",
  route: { method: "GET", path: "/v1/events", query: { ...page, ...aboutQuery, from: "string" }, status: 200 },
  authority: { callers: server, by_link: "quote_request_id" },
  cost: { read: 1 },
  idempotent: false,
  input: FeedInput,
  output: EventPage,
  errors: ["invalid_cursor", "event_cursor_expired"],
  run: (call, input) => Events.use((events) => events.list(call, input))
})

/** Reads the sandbox workspace: its time, its active scenario and how many times it was reset. */
export const getSandbox = Operation.make({
  name: "get_sandbox",
  summary: "Read the sandbox workspace",
  description: "Its time, its active scenario and how often it was reset.",
  tag: "Sandbox",
  route: { method: "GET", path: "/v1/sandbox", query: {}, status: 200 },
  authority: sandboxServer,
  cost: { read: 1 },
  idempotent: false,
  input: Nothing,
  output: SandboxWorkspace,
  errors: [],
  run: (call) => Sandbox.use((sandbox) => sandbox.get(call))
})

/** Lists the scenarios that a sandbox can play. */
export const listSandboxScenarios = Operation.make({
  name: "list_sandbox_scenarios",
  summary: "List the scenarios",
  description: "The named outcomes that a sandbox can play, and the lines that can play them.",
  tag: "Sandbox",
  route: { method: "GET", path: "/v1/sandbox/scenarios", query: {}, status: 200 },
  authority: sandboxServer,
  cost: { read: 1 },
  idempotent: false,
  input: Nothing,
  output: ScenarioList,
  errors: [],
  run: Effect.fnUntraced(function* () {
    const lines = yield* Lines
    return Json.encode(OwnCarrierScenarios.catalogueOf(yield* CarrierAdapters, lines.keys()))
  })
})

/** Selects the scenario for start calls that name no scenario (api.md, Scenarios). */
export const selectScenario = Operation.make({
  name: "select_scenario",
  summary: "Select a scenario",
  description: "Sets the scenario of all later start_quote_request calls that name none.",
  tag: "Sandbox",
  route: { method: "POST", path: "/v1/sandbox/scenarios", query: {}, status: 200 },
  authority: sandboxServer,
  cost: { other: 1 },
  idempotent: true,
  input: Schema.Struct({
    scenario: Schema.Literals(namesOf()).annotateKey({ description: "The scenario that later requests play" })
  }),
  output: ControlResult,
  errors: ["not_found", "conflict"],
  run: (call, { scenario }) => Sandbox.use((sandbox) => sandbox.selectScenario(call, scenario))
})

/** Moves the sandbox's clock forward, and runs everything that comes due on the way. */
export const advanceTime = Operation.make({
  name: "advance_time",
  summary: "Advance the sandbox's time",
  description:
    "Returns once everything that became due has happened, in order and each at its own time. One long advance produces the same feed as many short ones.",
  tag: "Sandbox",
  route: { method: "POST", path: "/v1/sandbox/time", query: {}, status: 200 },
  authority: sandboxServer,
  cost: { other: 1 },
  idempotent: true,
  input: Schema.Struct({
    seconds: wholeNumber(1, 31_536_000).annotateKey({ description: "How far to move the clock, in seconds" })
  }),
  output: ControlResult,
  errors: ["conflict"],
  run: (call, { seconds }) => Sandbox.use((sandbox) => sandbox.advanceTime(call, seconds))
})

/** Expires all of the sandbox's active quotes. */
export const forceExpiry = Operation.make({
  name: "force_expiry",
  summary: "Force quotes to expire",
  description: "Every active quote becomes inactive now, even those without an expiry time.",
  tag: "Sandbox",
  route: { method: "POST", path: "/v1/sandbox/expiry", query: {}, status: 200 },
  authority: sandboxServer,
  cost: { other: 1 },
  idempotent: true,
  input: Nothing,
  output: ControlResult,
  errors: ["conflict"],
  run: (call) => Sandbox.use((sandbox) => sandbox.forceExpiry(call))
})

/** Resends the sandbox's recorded events to its subscriptions. */
export const replayEvents = Operation.make({
  name: "replay_events",
  summary: "Replay the sandbox's events",
  description:
    "Sends the recorded events to the subscriptions again: as recorded, twice, in reverse order, late, or with the first one missing.",
  tag: "Sandbox",
  route: { method: "POST", path: "/v1/sandbox/replays", query: {}, status: 200 },
  authority: sandboxServer,
  cost: { other: 1 },
  idempotent: true,
  input: Schema.Struct({
    scenario: Schema.optionalKey(ReplayCode).annotateKey({
      description: "How the events are sent again: `as_recorded` by default"
    })
  }),
  output: ControlResult,
  errors: ["conflict"],
  run: (call, { scenario = "as_recorded" }) => Sandbox.use((sandbox) => sandbox.replayEvents(call, scenario))
})

/** Resets the sandbox by removing all its data. */
export const resetSandbox = Operation.make({
  name: "reset_sandbox",
  summary: "Reset the sandbox",
  description:
    "Removes all its data, sets its clock back to real time and invalidates its feed's cursors. Keys are kept.",
  tag: "Sandbox",
  route: { method: "POST", path: "/v1/sandbox/reset", query: {}, status: 200 },
  authority: sandboxServer,
  cost: { other: 1 },
  idempotent: true,
  input: Nothing,
  output: ControlResult,
  errors: ["conflict"],
  run: (call) => Sandbox.use((sandbox) => sandbox.reset(call))
})

/** Every operation of the API. */
export const operations = [
  getCapabilities,
  startQuoteRequest,
  getQuoteRequest,
  listQuoteRequests,
  getQuoteRequestTimeline,
  cancelQuoteRequest,
  createPartnerLink,
  getQuote,
  previewRevisions,
  listEvents,
  Webhooks.createEventSubscription,
  Webhooks.listEventSubscriptions,
  Webhooks.updateEventSubscription,
  Webhooks.disableEventSubscription,
  Webhooks.rotateEventSubscriptionSecret,
  Webhooks.sendTestEvent,
  Webhooks.listEventDeliveries,
  Webhooks.getEventDelivery,
  Webhooks.replayEventDelivery,
  Webhooks.getEventSubscriptionHealth,
  Webhooks.previewEventRecovery,
  Webhooks.startEventRecovery,
  Webhooks.listEventRecoveries,
  Webhooks.changeEventRecovery,
  RequestLogOperations.listApiRequests,
  RequestLogOperations.getApiRequest,
  Feedback.sendFeedback,
  Feedback.getFeedback,
  getSandbox,
  listSandboxScenarios,
  selectScenario,
  advanceTime,
  forceExpiry,
  replayEvents,
  resetSandbox
] as const

type ServicesOf<Operations> =
  Operations extends ReadonlyArray<Operation.Operation<string, unknown, unknown, infer R>> ? R : never

/** The services that the operations need. */
export type OperationServices = ServicesOf<typeof operations>
