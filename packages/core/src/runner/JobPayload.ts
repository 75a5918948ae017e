import { Option, Schema } from "effect"
import type { JobKind, NewJob } from "../storage/Job.ts"
import { QuoteId, QuoteRequestId, RecoveryId, SubscriptionId } from "../wire/Ids.ts"

const OfRequest = Schema.Struct({ quote_request_id: QuoteRequestId })

const OfClosing = Schema.Struct({
  ...OfRequest.fields,
  /** Whether this job was late and has already let late asks run first; false by default. */
  gave_way: Schema.optionalKey(Schema.Boolean)
})

const OfCarrier = Schema.Struct({
  ...OfRequest.fields,
  carrier_id: Schema.String,
  /** The number of the attempt at the ask, from 1. */
  attempt: Schema.Int
})

const OfAsk = Schema.Struct({
  ...OfCarrier.fields,
  /** Whether the ask is waiting because the carrier's limits left no room; false by default. */
  had_no_room: Schema.optionalKey(Schema.Boolean),
  /** Whether the job only waits on the sandbox's clock and then queues the ask; false by default. */
  put_off: Schema.optionalKey(Schema.Boolean)
})

const OfAcceptedAsk = Schema.Struct({
  ...OfCarrier.fields,
  /** The carrier's own reference for the accepted ask, sealed. */
  sealed_ref: Schema.String,
  /** Whether a process died during an earlier poll; false by default. */
  was_cut_off: Schema.optionalKey(Schema.Boolean)
})

const OfQuote = Schema.Struct({ quote_id: QuoteId })

const OfRefresh = Schema.Struct({
  ...OfQuote.fields,
  /** The number of the attempt at the refresh, from 1, which is the default. */
  attempt: Schema.optionalKey(Schema.Int)
})

const OfSubscription = Schema.Struct({ subscription_id: SubscriptionId })

const OfRecovery = Schema.Struct({
  recovery_id: RecoveryId,
  /** Counts the starts of the recovery, so that a job from an earlier start does nothing. */
  turn: Schema.Int
})

const OfDelivery = Schema.Struct({
  ...OfSubscription.fields,
  event_id: Schema.String,
  /**
   * The attempt's step in the delivery's schedule; each step has its own job. Null for an attempt outside the schedule.
   */
  schedule_step: Schema.NullOr(Schema.Int),
  trigger: Schema.Literals(["manual", "scheduled"]),
  /** How many times the attempt was postponed because its host had no free connection; 0 by default. */
  postponed: Schema.optionalKey(Schema.Int)
})

/** The payload of each kind of job: IDs and counts, never facts about a person or unsealed text from a carrier. */
const payloads = {
  collect: OfRequest,
  ask_carrier: OfAsk,
  poll_carrier: OfAcceptedAsk,
  carrier_callback: OfAcceptedAsk,
  close_request: OfClosing,
  end_action: OfRequest,
  expire_quote: OfQuote,
  refresh_quote: OfRefresh,
  deliver: OfDelivery,
  cancel_deliveries: OfSubscription,
  drop_subscription: OfSubscription,
  recover_deliveries: OfRecovery
} satisfies Record<JobKind, Schema.Schema<object>>

/** The fields of a job that determine its payload. */
type PayloadJob = Pick<NewJob, "kind" | "payload">

/** The types of the payloads, which are JSON in `NewJob.payload`. */
export type Payloads = { readonly [K in JobKind]: (typeof payloads)[K]["Type"] }

const reader = <A>(schema: Schema.Schema<A>): ((payload: string) => A) => {
  const isPayload = Schema.is(schema)
  return (payload) => {
    const value: unknown = JSON.parse(payload)
    if (isPayload(value)) return value
    throw new Error("The payload of a job does not match the schema of its kind")
  }
}

/** Makes a job with the payload that its kind requires. */
export const make = <K extends JobKind>(
  kind: K,
  payload: Payloads[K],
  due: Pick<NewJob, "due_at" | "ordered" | "lane">
): NewJob => ({ kind, ...due, payload: JSON.stringify(payload) })

const readers: { readonly [K in JobKind]: (payload: string) => Payloads[K] } = {
  collect: reader(payloads.collect),
  ask_carrier: reader(payloads.ask_carrier),
  poll_carrier: reader(payloads.poll_carrier),
  carrier_callback: reader(payloads.carrier_callback),
  close_request: reader(payloads.close_request),
  end_action: reader(payloads.end_action),
  expire_quote: reader(payloads.expire_quote),
  refresh_quote: reader(payloads.refresh_quote),
  deliver: reader(payloads.deliver),
  cancel_deliveries: reader(payloads.cancel_deliveries),
  drop_subscription: reader(payloads.drop_subscription),
  recover_deliveries: reader(payloads.recover_deliveries)
}

/** Reads the payload of a job of this kind. Throws if the job has another kind. */
export const read = <K extends JobKind>(job: PayloadJob, kind: K): Payloads[K] => {
  if (job.kind !== kind) throw new Error(`A job of kind ${job.kind} was read as a job of kind ${kind}`)
  return readers[kind](job.payload)
}

/** The kinds of job about a quote request or a quote. All other kinds are about webhooks. */
export type QuotingJob = {
  [Kind in JobKind]: Payloads[Kind] extends { readonly quote_request_id: string } | { readonly quote_id: string }
    ? Kind
    : never
}[JobKind]

const requestIn = Schema.decodeUnknownOption(Schema.fromJsonString(OfRequest))

const carrierIn = Schema.decodeUnknownOption(Schema.fromJsonString(OfCarrier))

/** The quote request and the carrier that a job is about; null if the job is not about a carrier. */
export const carrierOf = (job: PayloadJob): typeof OfCarrier.Type | null => Option.getOrNull(carrierIn(job.payload))

const OfAny = Schema.Struct({
  quote_request_id: Schema.optionalKey(QuoteRequestId),
  carrier_id: Schema.optionalKey(Schema.String),
  quote_id: Schema.optionalKey(QuoteId),
  subscription_id: Schema.optionalKey(SubscriptionId)
})

const anyIn = Schema.decodeUnknownSync(Schema.fromJsonString(OfAny))

/** The IDs of the resources that a job of any kind is about. */
export const about = (job: PayloadJob): typeof OfAny.Type => anyIn(job.payload)

/** The quote request that a job refers to; null if the job refers to no quote request. */
export const requestOf = (job: PayloadJob): QuoteRequestId | null =>
  Option.match(requestIn(job.payload), { onNone: () => null, onSome: ({ quote_request_id }) => quote_request_id })
