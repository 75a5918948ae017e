import { Carrier } from "@quotewire/core"
import type { reasons as quoteReasons } from "../../packages/core/src/quoting/Quote.ts"
import type { Reason } from "../../packages/core/src/quoting/QuoteRequest.ts"
import type { ReadDelivery, ReadRequest } from "./Observer.ts"

/*
 * The states and transitions of requests, carrier results, quotes and deliveries. The states follow from the service's
 * lists: for each new reason, the compiler requires an entry here.
 */

/** The status of a request for each of its reasons. */
const statusOf: { readonly [reason in Reason]: ReadRequest["quote_request"]["status"] } = {
  queued: "in_progress",
  collecting: "in_progress",
  quotes_arriving: "in_progress",
  carrier_question: "action_required",
  facts_needed: "action_required",
  credit_disclosure_needed: "action_required",
  identity_check: "action_required",
  quotes_ready: "completed",
  quotes_ready_some_silent: "completed",
  quotes_ready_action_not_taken: "completed",
  no_offers: "completed",
  no_offers_some_silent: "completed",
  no_offers_action_not_taken: "completed",
  could_not_start: "failed",
  no_carrier_available: "failed",
  no_carrier_answered: "failed",
  cancelled_by_caller: "failed",
  consent_withdrawn: "failed",
  internal_error: "failed"
}

/** The status of a quote for each of its reasons. */
const quoteStatusOf: { readonly [reason in keyof typeof quoteReasons]: "active" | "inactive" } = {
  offered: "active",
  price_updated: "active",
  terms_updated: "active",
  rechecked: "active",
  expired: "inactive",
  withdrawn_by_carrier: "inactive",
  superseded: "inactive",
  declined_after_review: "inactive",
  state_moratorium: "inactive",
  consent_withdrawn: "inactive"
}

const deliveryStatuses: { readonly [status in ReadDelivery["status"]]: true } = {
  pending: true,
  retrying: true,
  succeeded: true,
  failed: true,
  cancelled: true
}

/** The results of a carrier that was asked. */
const answered = [
  "quoted",
  "needs_information",
  ...Carrier.declineReasons.map((reason) => `declined ${reason}`),
  ...Carrier.noAnswerReasons.map((reason) => `no_answer ${reason}`)
]

/** What no story reaches, and why. If a story reaches it, the reason is wrong. */
export const unreachable: { readonly [name: string]: string } = {
  "request: action_required facts_needed": "no code sets it",
  "request: action_required credit_disclosure_needed": "no code sets it",
  "request: action_required identity_check": "no code sets it",
  "request: failed internal_error": "no fault of a story is a defect of the service",
  "quote: inactive superseded": "no code sets it",
  "quote: inactive declined_after_review": "no code sets it",
  "quote: inactive state_moratorium": "no code sets it",
  "result: not_asked product_closed": "no code sets it"
}

const reachable = (what: string, all: ReadonlyArray<string>): ReadonlyArray<string> =>
  all.filter((state) => unreachable[`${what}: ${state}`] === undefined)

/** States, by subject. */
export const states: { readonly [what: string]: ReadonlyArray<string> } = {
  request: reachable(
    "request",
    Object.entries(statusOf).map(([reason, status]) => `${status} ${reason}`)
  ),
  result: reachable("result", [
    "pending",
    ...answered,
    ...Carrier.notAskedReasons.map((reason) => `not_asked ${reason}`)
  ]),
  quote: reachable(
    "quote",
    Object.entries(quoteStatusOf).map(([reason, status]) => `${status} ${reason}`)
  ),
  delivery: Object.keys(deliveryStatuses)
}

/** Transitions from one state to the next. */
export const transitions: { readonly [what: string]: ReadonlyArray<string> } = {
  request: [
    "action_required carrier_question → completed no_offers_action_not_taken",
    "action_required carrier_question → completed quotes_ready_action_not_taken",
    "action_required carrier_question → failed consent_withdrawn",
    "in_progress collecting → action_required carrier_question",
    "in_progress collecting → completed no_offers",
    "in_progress collecting → completed no_offers_some_silent",
    "in_progress collecting → completed quotes_ready",
    "in_progress collecting → completed quotes_ready_some_silent",
    "in_progress collecting → failed consent_withdrawn",
    "in_progress collecting → failed no_carrier_answered",
    "in_progress collecting → in_progress quotes_arriving",
    "in_progress queued → failed cancelled_by_caller",
    "in_progress queued → failed consent_withdrawn",
    "in_progress queued → failed could_not_start",
    "in_progress queued → failed no_carrier_available",
    "in_progress queued → in_progress collecting",
    "in_progress quotes_arriving → action_required carrier_question",
    "in_progress quotes_arriving → completed quotes_ready",
    "in_progress quotes_arriving → completed quotes_ready_some_silent",
    "in_progress quotes_arriving → failed consent_withdrawn"
  ],
  result: answered.map((result) => `pending → ${result}`),
  quote: [
    "active offered → active price_updated",
    "active offered → active rechecked",
    "active offered → active terms_updated",
    "active offered → inactive consent_withdrawn",
    "active offered → inactive expired",
    "active offered → inactive withdrawn_by_carrier",
    "active rechecked → inactive expired"
  ],
  delivery: [
    "pending → cancelled",
    "pending → retrying",
    "pending → succeeded",
    "retrying → cancelled",
    "retrying → failed",
    "retrying → pending",
    "retrying → succeeded",
    "succeeded → pending"
  ]
}

/** What fewer than one story in 30 reaches. */
export const rare: ReadonlySet<string> = new Set([
  "delivery: cancelled",
  "delivery: pending → cancelled",
  "delivery: retrying → cancelled",
  "delivery: retrying → pending",
  "fault: consumers fail",
  "fault: name servers are down",
  "fault: receiver returns 500",
  "fault: receiver hangs",
  "fault: receiver is gone",
  "fault: receiver is slow",
  "fault: receiver redirects",
  "outdated: a cached key",
  "quote: active rechecked → inactive expired",
  "request: action_required carrier_question → failed consent_withdrawn",
  "request: failed could_not_start",
  "request: in_progress collecting → completed quotes_ready",
  "request: in_progress queued → failed consent_withdrawn",
  "request: in_progress queued → failed could_not_start",
  "result: not_asked circuit_open"
])

/** Transitions that are possible but too rare to require. */
const possible: ReadonlyArray<string> = [
  "quote: active price_updated → inactive consent_withdrawn",
  "quote: active price_updated → inactive expired",
  "quote: active rechecked → inactive consent_withdrawn",
  "quote: active terms_updated → inactive consent_withdrawn",
  "quote: active terms_updated → inactive expired"
]

const listed: ReadonlySet<string> = new Set([
  ...Object.entries({ ...states }).flatMap(([what, all]) => all.map((state) => `${what}: ${state}`)),
  ...Object.entries(transitions).flatMap(([what, all]) => all.map((transition) => `${what}: ${transition}`)),
  ...possible,
  ...Object.keys(unreachable)
])

/** Whether a state or transition is in one of these lists. Other names are not required. */
export const isListed = (name: string): boolean =>
  !/^(?:request|result|quote|delivery): /.test(name) || listed.has(name)
