import { Option, Schema } from "effect"
import type { ClaimedJob, JobKind, NewJob } from "../storage/Job.ts"
import { QuoteId, QuoteRequestId, SubscriptionId } from "../wire/Ids.ts"

const OfRequest = Schema.Struct({ quote_request_id: QuoteRequestId })

const OfCarrier = Schema.Struct({
  ...OfRequest.fields,
  carrier_id: Schema.String,
  /** 1 for the first try of an ask, 2 for its only repeat. */
  attempt: Schema.Int
})

const OfAcceptedAsk = Schema.Struct({
  ...OfCarrier.fields,
  /** The carrier's name of the ask that it has accepted. */
  ref: Schema.String
})

const OfQuote = Schema.Struct({ quote_id: QuoteId })

const OfSubscription = Schema.Struct({ subscription_id: SubscriptionId })

const OfDelivery = Schema.Struct({
  ...OfSubscription.fields,
  event_id: Schema.String,
  /** The step of the delivery's schedule that this attempt is; a later step has a job of its own. Null: beside the schedule. */
  schedule_step: Schema.NullOr(Schema.Int),
  trigger: Schema.Literals(["manual", "scheduled"]),
  /** How often it was put off because its host had no connection to spare; never where it is left out. */
  postponed: Schema.optionalKey(Schema.Int)
})

/** What each kind of job carries: names and counts, never a person's facts. */
const payloads = {
  collect: OfRequest,
  ask_carrier: OfCarrier,
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

/** What each kind of job carries, as JSON in `NewJob.payload`. */
export type Payloads = { readonly [K in JobKind]: (typeof payloads)[K]["Type"] }

const reader = <A>(schema: Schema.Decoder<A>): ((payload: string) => A) =>
  Schema.decodeUnknownSync(Schema.fromJsonString(schema))

/** A job of a kind, with what its kind carries. */
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

/** What a job of that kind carries; a defect where the job is of another. */
export const read = <K extends JobKind>(job: ClaimedJob, kind: K): Payloads[K] => {
  if (job.kind !== kind) throw new Error(`A job of the kind ${job.kind} was read as ${kind}`)
  return readers[kind](job.payload)
}

const requestIn = Schema.decodeUnknownOption(Schema.fromJsonString(OfRequest))

/** The quote request that a job of whatever kind names; null where it names none. */
export const requestOf = (job: ClaimedJob): QuoteRequestId | null =>
  Option.match(requestIn(job.payload), { onNone: () => null, onSome: ({ quote_request_id }) => quote_request_id })
