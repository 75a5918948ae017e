import { Schema } from "effect"
import { Environment } from "../access/Caller.ts"
import {
  CarrierName,
  declineReasons,
  NextAction,
  type NotAskedReason,
  noAnswerReasons,
  notAskedReasons
} from "../carriers/Carrier.ts"
import * as Scenario from "../carriers/Scenario.ts"
import * as Event from "../events/Event.ts"
import { LineName } from "../lines/LineName.ts"
import type { NewEvent, StoredRecord } from "../storage/Change.ts"
import * as Kind from "../storage/Kind.ts"
import { ApplicationId, type Ids, QuoteId, QuoteRequestId } from "../wire/Ids.ts"
import { fromMillis, secondMs, Timestamp, toMillis } from "../wire/Timestamp.ts"

/**
 * How long a request may collect answers from carriers. In the sandbox, a request first waits a second in the queue, so
 * the collection ends 60 seconds after the request was accepted.
 */
export const collectMs = { sandbox: 59 * secondMs, live: 90 * secondMs } as const

/**
 * The statuses of a quote request. The list is closed: revisions never add a status (api.md, Quote request statuses).
 */
export const statuses = ["in_progress", "action_required", "completed", "failed"] as const

/** The reasons for a status, each with a sentence that is safe to show a person. */
export const reasons = {
  queued: "Waiting to start.",
  collecting: "Asking carriers.",
  quotes_arriving: "Offers are arriving.",
  carrier_question: "A carrier needs one more answer.",
  facts_needed: "More facts are needed.",
  credit_disclosure_needed: "The credit disclosure is needed.",
  identity_check: "An identity check is needed.",
  quotes_ready: "All carriers answered.",
  quotes_ready_some_silent: "Offers are ready; some carriers gave no answer.",
  no_offers: "No carrier made an offer.",
  no_offers_some_silent: "No carrier made an offer; some gave no answer.",
  quotes_ready_action_not_taken: "Offers are ready; a carrier's question was not answered in time.",
  no_offers_action_not_taken: "No carrier made an offer; a carrier's question was not answered in time.",
  could_not_start: "The request could not be started.",
  no_carrier_available: "No carrier is available for this request.",
  no_carrier_answered: "No carrier gave a usable answer.",
  cancelled_by_caller: "The request was cancelled before it started.",
  consent_withdrawn: "The person has withdrawn consent.",
  internal_error: "The request failed because of a fault of the service."
} as const
export type Reason = keyof typeof reasons

/** The result for one carrier: whether it was asked, and what it answered. */
export const CarrierResult = Schema.Struct({
  carrier: CarrierName.annotateKey({ description: "The carrier" }),
  outcome: Schema.Literals([
    "pending",
    "quoted",
    "declined",
    "needs_information",
    "no_answer",
    "not_asked"
  ]).annotateKey({ description: "The outcome of the ask" }),
  reason: Schema.NullOr(Schema.String).annotate({
    description: `New reasons can be added. Declined: ${declineReasons.join(", ")}. No answer: ${noAnswerReasons.join(", ")}. Not asked: ${notAskedReasons.join(", ")}.`
  }),
  message: Schema.NullOr(Schema.String).annotateKey({
    description: "What the carrier says about the outcome, as text for a person; null if nothing"
  }),
  missing_facts: Schema.Array(Schema.String).annotateKey({
    description: "The paths of the facts that the carrier lacks"
  }),
  quote_ids: Schema.Array(QuoteId).annotateKey({ description: "The quotes made from the carrier's offers" }),
  asked_at: Schema.NullOr(Timestamp).annotateKey({ description: "When the carrier was asked; null if it was not" }),
  answered_at: Schema.NullOr(Timestamp).annotateKey({ description: "When the carrier answered; null if it did not" })
}).annotate({ identifier: "CarrierResult" })
export type CarrierResult = typeof CarrierResult.Type

/** One person's request for quotes on one line, with a result for each carrier (api.md, Quote requests). */
export const QuoteRequest = Schema.Struct({
  id: QuoteRequestId.annotateKey({ description: "The identifier of the request" }),
  version: Schema.Int.annotateKey({ description: "Increases by one with each change" }),
  environment: Environment.annotateKey({ description: "The environment that it runs in" }),
  line: LineName.annotateKey({ description: "The insurance line" }),
  status: Schema.Literals(statuses).annotateKey({ description: "The status; `completed` and `failed` are final" }),
  status_details: Schema.Struct({
    reason: Schema.String.annotateKey({ description: "The reason, for a program. New ones can be added" }),
    message: Schema.String.annotateKey({ description: "The reason, as a sentence for a person" })
  }).annotateKey({ description: "Why it has this status" }),
  application_id: ApplicationId.annotateKey({ description: "The identifier of the facts" }),
  application_version: Schema.Int.annotateKey({ description: "The version of the facts" }),
  scenario: Schema.NullOr(Schema.String).annotateKey({
    description: "The outcome that a sandbox plays; null if none was named"
  }),
  created_at: Timestamp.annotateKey({ description: "When it was started" }),
  updated_at: Timestamp.annotateKey({ description: "When this version was created" }),
  deadline_at: Schema.NullOr(Timestamp).annotateKey({
    description: "The deadline for carriers; null until carriers are asked"
  }),
  carriers: Schema.Array(CarrierResult).annotateKey({ description: "The result of each carrier" }),
  quote_ids: Schema.Array(QuoteId).annotateKey({ description: "All quotes of the request" }),
  next_actions: Schema.Array(NextAction).annotateKey({ description: "What the person can do next" })
}).annotate({ identifier: "QuoteRequest" })
export type QuoteRequest = typeof QuoteRequest.Type

/**
 * The record kind for quote requests, keyed by ID. The records are sealed, because they contain the carriers' own words
 * in questions and declines. Every new version wakes the readers that wait for a change.
 */
export const kind = Kind.make({
  name: "quote_request",
  schema: QuoteRequest,
  sealed: true,
  kept_for: { period: "quotes", clock: "workspace" },
  erases_children: true,
  wakes: "itself",
  listing: ({ line, status }) => ({ line, status })
})

/** The stored record of one version of a quote request. */
export const toStored = (request: QuoteRequest): StoredRecord =>
  kind.record(request, {
    id: request.id,
    version: request.version,
    created_at: toMillis(request.created_at),
    updated_at: toMillis(request.updated_at)
  })

/** The types of event that a step of a quote request can create. */
export type RequestEvent =
  | "quote_request.queued"
  | "quote_request.updated"
  | "quote_request.completed"
  | "quote_request.failed"
  | "quote_request.cancelled"
  | "quote_request.incomplete"

/** A step of a quote request: the request's next version, and the one event that reports the step. */
export interface Step {
  readonly request: QuoteRequest
  readonly event: RequestEvent
}

/** The scenario that a request plays; null if the carriers' own rules decide. */
export const scenarioOf = ({ scenario }: QuoteRequest): Scenario.ScenarioName | null =>
  scenario === null ? null : Scenario.parse(scenario)

/** Whether the request can no longer change. */
export const isFinal = (request: QuoteRequest): boolean => request.status === "completed" || request.status === "failed"

/** Whether this carrier has not answered the request yet but still may. */
export const isPending = (request: QuoteRequest, carrierId: string): boolean =>
  !isFinal(request) &&
  request.carriers.some(({ carrier, outcome }) => carrier.id === carrierId && outcome === "pending")

/** Makes a new request, accepted and queued. Times are milliseconds of workspace time. */
export const start = (options: {
  readonly id: QuoteRequestId
  readonly application_id: ApplicationId
  readonly environment: Environment
  readonly line: LineName
  readonly scenario: Scenario.ScenarioName | null
  readonly at: number
}): Step => ({
  request: {
    id: options.id,
    version: 1,
    environment: options.environment,
    line: options.line,
    ...state("in_progress", "queued"),
    application_id: options.application_id,
    application_version: 1,
    scenario: options.scenario,
    created_at: fromMillis(options.at),
    updated_at: fromMillis(options.at),
    deadline_at: null,
    carriers: [],
    quote_ids: [],
    next_actions: [{ type: "read_status", resource: "quote_request", id: options.id }]
  },
  event: "quote_request.queued"
})

/** Cancels a request that is still queued; null if its work has begun (api.md, Cancellation). */
export const cancel = (request: QuoteRequest, now: number): Step | null =>
  request.status_details.reason === "queued"
    ? { request: next(request, now, "failed", "cancelled_by_caller"), event: "quote_request.cancelled" }
    : null

/** Fails a request. The request then no longer waits for carriers that have not answered. */
export const fail = (
  request: QuoteRequest,
  reason: "could_not_start" | "no_carrier_available" | "internal_error" | "consent_withdrawn",
  now: number
): Step => ({ request: next(silenced(request), now, "failed", reason), event: "quote_request.failed" })

/**
 * Starts the collection, with the carriers that are asked and the carriers that are not. Fails the request if no
 * carrier can be asked.
 */
export const collect = (
  request: QuoteRequest,
  carriers: ReadonlyArray<CarrierResult>,
  now: number,
  deadline: number
): Step => {
  const collecting = { ...request, carriers }
  if (!carriers.some((result) => result.outcome === "pending")) return fail(collecting, "no_carrier_available", now)
  return {
    request: { ...next(collecting, now, "in_progress", "collecting"), deadline_at: fromMillis(deadline) },
    event: "quote_request.updated"
  }
}

/** The initial result of a carrier that is asked now. */
export const asked = (carrier: CarrierName, now: number): CarrierResult => ({
  ...resultOf(carrier, "pending", null),
  asked_at: fromMillis(now)
})

/** The result for a carrier that is not asked, and the facts that were missing. */
export const notAsked = (
  carrier: CarrierName,
  reason: NotAskedReason,
  missing_facts: ReadonlyArray<string> = []
): CarrierResult => ({ ...resultOf(carrier, "not_asked", reason), missing_facts })

const resultOf = (carrier: CarrierName, outcome: CarrierResult["outcome"], reason: string | null): CarrierResult => ({
  carrier: { id: carrier.id, name: carrier.name },
  outcome,
  reason,
  message: null,
  missing_facts: [],
  quote_ids: [],
  asked_at: null,
  answered_at: null
})

/** The outcome of an ask. */
export type AskOutcome =
  | { readonly outcome: "quoted"; readonly quote_ids: ReadonlyArray<QuoteId> }
  | { readonly outcome: "declined"; readonly reason: string; readonly message: string | null }
  | { readonly outcome: "no_answer"; readonly reason: string; readonly never_asked?: boolean }
  | { readonly outcome: "needs_information"; readonly message: string; readonly missing_facts: ReadonlyArray<string> }

/** Records a carrier's answer. Returns null if the carrier is not pending, because the answer is late or a repeat. */
export const answer = (request: QuoteRequest, carrierId: string, outcome: AskOutcome, now: number): Step | null => {
  const pending = request.carriers.find((result) => result.carrier.id === carrierId && result.outcome === "pending")
  if (isFinal(request) || pending === undefined) return null
  const quote_ids = outcome.outcome === "quoted" ? outcome.quote_ids : []
  const answered: CarrierResult = {
    ...pending,
    outcome: outcome.outcome,
    reason: "reason" in outcome ? outcome.reason : null,
    message: "message" in outcome ? outcome.message : null,
    missing_facts: "missing_facts" in outcome ? outcome.missing_facts : [],
    quote_ids,
    asked_at: outcome.outcome === "no_answer" && outcome.never_asked === true ? null : pending.asked_at,
    answered_at: outcome.outcome === "no_answer" ? null : fromMillis(now)
  }
  return settle(
    {
      ...request,
      carriers: request.carriers.map((result) => (result === pending ? answered : result)),
      quote_ids: [...request.quote_ids, ...quote_ids]
    },
    now
  )
}

/** Whether any carrier has not answered the request yet but still may. */
export const hasPending = (request: QuoteRequest): boolean =>
  !isFinal(request) && request.carriers.some(({ outcome }) => outcome === "pending")

/**
 * Applies the deadline: carriers that have not answered get the outcome `no_answer`. Carriers in `unasked` were never
 * asked by any host, so they also lose their `asked_at`. Returns null if no carrier is pending.
 */
export const close = (request: QuoteRequest, now: number, unasked: ReadonlySet<string> = noCarriers): Step | null =>
  hasPending(request) ? settle(silenced(request, unasked), now) : null

const noCarriers: ReadonlySet<string> = new Set()

const silenced = (request: QuoteRequest, unasked: ReadonlySet<string> = noCarriers): QuoteRequest => ({
  ...request,
  carriers: request.carriers.map((result): CarrierResult => {
    if (result.outcome !== "pending") return result
    const asked_at = unasked.has(result.carrier.id) ? null : result.asked_at
    return { ...result, outcome: "no_answer", reason: "timeout", asked_at }
  })
})

/**
 * Ends the wait for answers to carriers' questions, after 24 hours without an answer. Returns null if the request is
 * not waiting for answers.
 */
export const endAction = (request: QuoteRequest, now: number): Step | null => {
  if (request.status !== "action_required") return null
  const reason = request.quote_ids.length > 0 ? "quotes_ready_action_not_taken" : "no_offers_action_not_taken"
  return { request: next(silenced(request), now, "completed", reason), event: "quote_request.completed" }
}

/**
 * Sets the status that follows from the carriers' results. This is the transition table of a quote request (api.md,
 * Transitions).
 */
const settle = (request: QuoteRequest, now: number): Step => {
  const hasOutcome = (outcome: CarrierResult["outcome"]) =>
    request.carriers.some((result) => result.outcome === outcome)
  const hasQuotes = request.quote_ids.length > 0
  const updated = (status: "in_progress" | "action_required", reason: Reason): Step => ({
    request: next(request, now, status, reason),
    event: "quote_request.updated"
  })
  const completed = (reason: Reason): Step => ({
    request: next(request, now, "completed", reason),
    event: reason === "no_offers_some_silent" ? "quote_request.incomplete" : "quote_request.completed"
  })
  if (hasOutcome("needs_information")) return updated("action_required", "carrier_question")
  if (hasOutcome("pending")) return updated("in_progress", hasQuotes ? "quotes_arriving" : "collecting")
  if (hasQuotes) return completed(hasOutcome("no_answer") ? "quotes_ready_some_silent" : "quotes_ready")
  if (!hasOutcome("no_answer")) return completed("no_offers")
  if (hasOutcome("declined")) return completed("no_offers_some_silent")
  return { request: next(request, now, "failed", "no_carrier_answered"), event: "quote_request.failed" }
}

const state = (status: QuoteRequest["status"], reason: Reason) => ({
  status,
  status_details: { reason, message: reasons[reason] }
})

const next = (request: QuoteRequest, now: number, status: QuoteRequest["status"], reason: Reason): QuoteRequest => {
  const moved = { ...request, ...state(status, reason), version: request.version + 1, updated_at: fromMillis(now) }
  return isFinal(moved) ? { ...moved, next_actions: [] } : moved
}

/** The one event that reports a step. `now` is in milliseconds of workspace time. */
export const requestEvent = (ids: Ids["Service"], step: Step, now: number): NewEvent =>
  Event.record({
    id: ids.event(),
    type: step.event,
    at: now,
    environment: step.request.environment,
    line: step.request.line,
    resource: { type: "quote_request", id: step.request.id, version: step.request.version }
  })
