import type { QuoteId, QuoteRequestId, SubscriptionId } from "../Ids.ts"
import type { JobKind } from "../storage/Job.ts"

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

/** What each kind of job carries, as JSON in `Job.payload`: names and counts, never a person's facts. */
export interface JobPayload extends Record<JobKind, object> {
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
