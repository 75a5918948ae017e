import type { ClaimedJob, JobKind, NewJob } from "../storage/Job.ts"
import type { QuoteId, QuoteRequestId, SubscriptionId } from "../wire/Ids.ts"
import * as Json from "../wire/Json.ts"

interface OfRequest {
  readonly quote_request_id: QuoteRequestId
}

interface OfCarrier extends OfRequest {
  readonly carrier_id: string
  /** 1 for the first try of an ask, 2 for its only repeat. */
  readonly attempt: number
}

interface OfAcceptedAsk extends OfCarrier {
  /** The carrier's name of the ask that it has accepted. */
  readonly ref: string
}

interface OfQuote {
  readonly quote_id: QuoteId
}

interface OfSubscription {
  readonly subscription_id: SubscriptionId
}

interface OfDelivery extends OfSubscription {
  readonly event_id: string
  /** The turn of the delivery that this attempt is; a later turn has a job of its own. Null: beside the schedule. */
  readonly turn: number | null
  readonly trigger: "manual" | "scheduled"
  /** How often it was put off because its host had no connection to spare; never where it is left out. */
  readonly postponed?: number
}

/** What each kind of job carries, as JSON in `NewJob.payload`: names and counts, never a person's facts. */
export interface Payloads extends Record<JobKind, object> {
  readonly collect: OfRequest
  readonly ask_carrier: OfCarrier
  readonly poll_carrier: OfAcceptedAsk
  readonly carrier_callback: OfAcceptedAsk
  readonly close_request: OfRequest
  readonly end_action: OfRequest
  readonly expire_quote: OfQuote
  readonly refresh_quote: OfQuote
  readonly deliver: OfDelivery
  readonly cancel_deliveries: OfSubscription
  readonly drop_subscription: OfSubscription
}

/** A job of a kind, with what its kind carries. */
export const make = <K extends JobKind>(
  kind: K,
  payload: Payloads[K],
  due: Pick<NewJob, "due_at" | "ordered" | "lane">
): NewJob => ({ kind, ...due, payload: JSON.stringify(payload) })

/** What a job of that kind carries; a defect where the job is of another. */
export const read = <K extends JobKind>(job: ClaimedJob, kind: K): Payloads[K] => {
  if (job.kind !== kind) throw new Error(`A job of the kind ${job.kind} was read as ${kind}`)
  return Json.decode(Json.fromText<Payloads[K]>(job.payload))
}

/** The quote request that a job of whatever kind names; null where it names none. */
export const requestOf = (job: ClaimedJob): QuoteRequestId | null =>
  Json.decode(Json.fromText<Partial<OfRequest>>(job.payload)).quote_request_id ?? null
