import { Schema } from "effect"
import type { StoredRecord } from "../../storage/Change.ts"
import * as Kind from "../../storage/Kind.ts"
import { SubscriptionId } from "../../wire/Ids.ts"
import { day_ms, fromMillis, hour_ms, minute_ms, second_ms, Timestamp } from "../../wire/Timestamp.ts"

/** The states of a delivery (api.md, Delivery). */
export const statuses = ["pending", "retrying", "succeeded", "failed", "cancelled"] as const

/** One attempt to deliver. */
export const Attempt = Schema.Struct({
  attempted_at: Timestamp,
  status: Schema.Literals(["pending", "succeeded", "failed", "cancelled"]),
  response_status_code: Schema.NullOr(Schema.Int).annotate({
    description: "Null when the endpoint gave no HTTP answer"
  }),
  response_duration_ms: Schema.Int,
  trigger: Schema.String.annotate({
    description: "`manual` for a test or replay, `scheduled` for the first attempt and each retry"
  })
}).annotate({ identifier: "DeliveryAttempt" })
export type Attempt = typeof Attempt.Type

const fields = {
  event_id: Schema.String,
  event_type: Schema.String,
  status: Schema.Literals(statuses),
  created_at: Timestamp,
  next_attempt_at: Schema.NullOr(Timestamp)
}

/** A delivery as the log lists it. */
export const DeliveryEntry = Schema.Struct(fields).annotate({ identifier: "DeliveryEntry" })
export type DeliveryEntry = typeof DeliveryEntry.Type

/** A delivery with its attempts, newest first. */
export const Delivery = Schema.Struct({ ...fields, attempts: Schema.Array(Attempt) }).annotate({
  identifier: "Delivery"
})
export type Delivery = typeof Delivery.Type

/** The wait before each retry, counted from the end of the attempt before it (api.md, Webhook delivery 5). */
export const retries_after_ms: ReadonlyArray<number> = [
  5 * second_ms,
  5 * minute_ms,
  30 * minute_ms,
  2 * hour_ms,
  5 * hour_ms,
  10 * hour_ms,
  10 * hour_ms
]
/** At most this many attempts are shown, the newest (api.md, Limits). */
export const max_attempts_shown = 20
/** After this time of failures delivery to a subscription turns off (api.md, Limits). */
export const shut_off_after_ms = 5 * day_ms

/** A delivery as stored. Times are milliseconds of workspace time. */
export const KeptDelivery = Schema.Struct({
  subscription_id: SubscriptionId,
  version: Schema.Int,
  /** Counts the steps of its schedule. An attempt that belongs to an earlier step is not made. */
  schedule_step: Schema.Int,
  event_id: Schema.String,
  event_type: Schema.String,
  status: Schema.Literals(statuses),
  created_at: Schema.Int,
  next_attempt_at: Schema.NullOr(Schema.Int),
  /** Newest first. */
  attempts: Schema.Array(Attempt),
  /** The body of every attempt. */
  payload: Schema.String,
  /** How many retries have been used since the event was queued or replayed. */
  retries: Schema.Int,
  /** When it was replayed, in milliseconds of real time; five replays a day are allowed. */
  replays: Schema.Array(Schema.Int)
})
export type KeptDelivery = typeof KeptDelivery.Type

/** Deliveries in storage, listed by subscription in the order of their events. */
export const kind = Kind.make({
  name: "delivery",
  schema: KeptDelivery,
  kept_for: { period: "events", clock: "workspace" },
  listing: (delivery) => ({ parent: delivery.subscription_id, status: isOpen(delivery) ? "open" : "closed" })
})

/** A new delivery of an event to a subscription. */
export const make = (options: {
  readonly subscription_id: SubscriptionId
  readonly event_id: string
  readonly event_type: string
  readonly payload: string
  readonly at: number
  /** When its first attempt is due; at once by default. */
  readonly due_at?: number
}): KeptDelivery => ({
  subscription_id: options.subscription_id,
  version: 1,
  schedule_step: 1,
  event_id: options.event_id,
  event_type: options.event_type,
  status: "pending",
  created_at: options.at,
  next_attempt_at: options.due_at ?? options.at,
  attempts: [],
  payload: options.payload,
  retries: 0,
  replays: []
})

/** Whether more attempts will follow. */
export const isOpen = ({ status }: KeptDelivery): boolean => status === "pending" || status === "retrying"

/** The result of an attempt. */
export interface AttemptOutcome {
  readonly attempted_at: number
  /** When it ended. Waits for retries count from here. */
  readonly ended_at: number
  /** Whether a complete 2xx came in time. Everything else is a failure, also a redirect (api.md, Webhook delivery 4). */
  readonly confirmed: boolean
  readonly response_status_code: number | null
  readonly response_duration_ms: number
  /** Whether the endpoint accepted the connection and then let the time run out. */
  readonly hung: boolean
  readonly trigger: "manual" | "scheduled"
}

/** The delivery with the attempt recorded and nothing else changed. */
export const withAttempt = (delivery: KeptDelivery, outcome: AttemptOutcome): KeptDelivery => {
  const attempt: Attempt = {
    attempted_at: fromMillis(outcome.attempted_at),
    status: outcome.confirmed ? "succeeded" : "failed",
    response_status_code: outcome.response_status_code,
    response_duration_ms: outcome.response_duration_ms,
    trigger: outcome.trigger
  }
  return {
    ...delivery,
    version: delivery.version + 1,
    attempts: [attempt, ...delivery.attempts].slice(0, max_attempts_shown)
  }
}

/** The delivery after an attempt: succeeded, to be retried, or failed. */
export const attempted = (delivery: KeptDelivery, outcome: AttemptOutcome): KeptDelivery => {
  const after = { ...withAttempt(delivery, outcome), schedule_step: delivery.schedule_step + 1 }
  if (outcome.confirmed) return finished(after, "succeeded")
  const wait_ms = retries_after_ms[delivery.retries]
  if (wait_ms === undefined) return finished(after, "failed")
  return { ...after, status: "retrying", retries: delivery.retries + 1, next_attempt_at: outcome.ended_at + wait_ms }
}

/** The delivery with its attempt moved to a later time. Nothing was sent. */
export const postponed = (delivery: KeptDelivery, until: number): KeptDelivery => ({
  ...delivery,
  version: delivery.version + 1,
  next_attempt_at: until
})

/** The delivery with a final status, in the same version. */
export const finished = (delivery: KeptDelivery, status: "succeeded" | "failed" | "cancelled"): KeptDelivery => ({
  ...delivery,
  status,
  next_attempt_at: null
})

/** The replays that count against the limit per day. `real_now` in milliseconds. */
export const recentReplays = ({ replays }: KeptDelivery, real_now: number): ReadonlyArray<number> =>
  replays.filter((replay) => replay > real_now - day_ms)

/** The delivery of an event that is replayed now, with a new retry schedule. */
export const replayed = (delivery: KeptDelivery, at: number, real_now: number): KeptDelivery => ({
  ...delivery,
  version: delivery.version + 1,
  schedule_step: delivery.schedule_step + 1,
  status: "pending",
  next_attempt_at: at,
  retries: 0,
  replays: [...recentReplays(delivery, real_now), real_now]
})

/** The delivery after its cancellation. No attempt follows. */
export const cancelled = (delivery: KeptDelivery): KeptDelivery => finished(withNextStep(delivery), "cancelled")

/** The delivery after its attempts were given up. */
export const abandoned = (delivery: KeptDelivery): KeptDelivery => finished(withNextStep(delivery), "failed")

const withNextStep = (delivery: KeptDelivery): KeptDelivery => ({
  ...delivery,
  version: delivery.version + 1,
  schedule_step: delivery.schedule_step + 1
})

/** The delivery as the log lists it. */
export const entryOf = (delivery: KeptDelivery): DeliveryEntry => ({
  event_id: delivery.event_id,
  event_type: delivery.event_type,
  status: delivery.status,
  created_at: fromMillis(delivery.created_at),
  next_attempt_at: delivery.next_attempt_at === null ? null : fromMillis(delivery.next_attempt_at)
})

const body_characters = 26

/** The storage id of a delivery. Ids sort in the order of the events, also of test events. */
export const idOf = (subscription_id: SubscriptionId, event_id: string): string =>
  `${idPrefixOf(event_id)}${subscription_id}`

/** What the storage ids of all deliveries of an event begin with. */
export const idPrefixOf = (event_id: string): string => `${event_id.slice(-body_characters)} `

/** The stored record. */
export const toStored = (delivery: KeptDelivery, at: number): StoredRecord =>
  kind.record(delivery, {
    id: idOf(delivery.subscription_id, delivery.event_id),
    version: delivery.version,
    created_at: delivery.created_at,
    updated_at: at
  })
