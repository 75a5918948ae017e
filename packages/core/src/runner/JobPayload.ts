import { Option, Schema } from "effect"
import type { ClaimedJob, JobKind, NewJob } from "../storage/Job.ts"
import { QuoteId, QuoteRequestId, SubscriptionId } from "../wire/Ids.ts"

const OfRequest = Schema.Struct({ quote_request_id: QuoteRequestId })

const OfCarrier = Schema.Struct({
  ...OfRequest.fields,
  carrier_id: Schema.String,
  /** Counts the tries of an ask, from 1. */
  attempt: Schema.Int
})

const OfAsk = Schema.Struct({
  ...OfCarrier.fields,
  /** Whether it waits because the carrier's limits left no room; not by default. */
  had_no_room: Schema.optionalKey(Schema.Boolean)
})

const OfAcceptedAsk = Schema.Struct({
  ...OfCarrier.fields,
  /** The carrier's reference for the ask that it has accepted. */
  ref: Schema.String
})

const OfQuote = Schema.Struct({ quote_id: QuoteId })

const OfSubscription = Schema.Struct({ subscription_id: SubscriptionId })

const OfDelivery = Schema.Struct({
  ...OfSubscription.fields,
  event_id: Schema.String,
  /** The step of the delivery's schedule; each step has a job of its own. Null for an attempt outside the schedule. */
  schedule_step: Schema.NullOr(Schema.Int),
  trigger: Schema.Literals(["manual", "scheduled"]),
  /** How often it was postponed because its host had no free connection; 0 by default. */
  postponed: Schema.optionalKey(Schema.Int)
})

/** The payload of each kind of job: ids and counts, never facts about a person. */
const payloads = {
  collect: OfRequest,
  ask_carrier: OfAsk,
  poll_carrier: OfAcceptedAsk,
  carrier_callback: OfAcceptedAsk,
  close_request: OfRequest,
  end_action: OfRequest,
  expire_quote: OfQuote,
  refresh_quote: OfQuote,
  deliver: OfDelivery,
  cancel_deliveries: OfSubscription,
  drop_subscription: OfSubscription
} satisfies Record<JobKind, Schema.Schema<object>>

/** The types of the payloads, which are JSON in `NewJob.payload`. */
export type Payloads = { readonly [K in JobKind]: (typeof payloads)[K]["Type"] }

const reader = <A>(schema: Schema.Decoder<A>): ((payload: string) => A) =>
  Schema.decodeUnknownSync(Schema.fromJsonString(schema))

/** A job with the payload of its kind. */
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
  drop_subscription: reader(payloads.drop_subscription)
}

/** The payload of a job of this kind. It is a defect to ask for another kind. */
export const read = <K extends JobKind>(job: ClaimedJob, kind: K): Payloads[K] => {
  if (job.kind !== kind) throw new Error(`A job of the kind ${job.kind} was read as ${kind}`)
  return readers[kind](job.payload)
}

/** Whether a job is about a quote request or a quote. The others are about webhooks. */
export const isOfQuoting = ({ kind }: ClaimedJob): boolean => {
  const { fields } = payloads[kind]
  return "quote_request_id" in fields || "quote_id" in fields
}

const requestIn = Schema.decodeUnknownOption(Schema.fromJsonString(OfRequest))

/** The quote request that a job of any kind refers to; null if there is none. */
export const requestOf = (job: ClaimedJob): QuoteRequestId | null =>
  Option.match(requestIn(job.payload), { onNone: () => null, onSome: ({ quote_request_id }) => quote_request_id })
