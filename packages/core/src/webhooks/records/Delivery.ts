import { Schema } from "effect"
import type { Environment } from "../../access/Caller.ts"
import { TypeName } from "../../events/Event.ts"
import * as JobPayload from "../../runner/JobPayload.ts"
import type { StoredRecord } from "../../storage/Change.ts"
import type { ClaimedJob, JobLane, NewJob } from "../../storage/Job.ts"
import * as Kind from "../../storage/Kind.ts"
import { SubscriptionId } from "../../wire/Ids.ts"
import { dayMs, fromMillis, hourMs, minuteMs, secondMs, Timestamp } from "../../wire/Timestamp.ts"
import { type SendFailure, sendFailures } from "../WebhookSender.ts"

/** The states of a delivery (api.md, Deliveries). */
export const statuses = ["pending", "retrying", "succeeded", "failed", "cancelled"] as const

/** One attempt at a delivery. */
export const Attempt = Schema.Struct({
  attempted_at: Timestamp.annotateKey({ description: "When it was sent" }),
  status: Schema.Literals(["pending", "succeeded", "failed", "cancelled"]).annotateKey({
    description: "The outcome"
  }),
  response_status_code: Schema.NullOr(Schema.Int).annotate({
    description: "Null when the endpoint gave no HTTP response"
  }),
  response_duration_ms: Schema.Int.annotateKey({ description: "How long the endpoint took, in milliseconds" }),
  trigger: Schema.String.annotate({
    description: "`manual` for a test or replay, `scheduled` for the first attempt and each retry"
  })
}).annotate({ identifier: "DeliveryAttempt" })
export type Attempt = typeof Attempt.Type

/** An attempt as stored, with the cause of a failure. */
export const StoredAttempt = Schema.Struct({
  ...Attempt.fields,
  failure: Schema.optionalKey(Schema.Literals(sendFailures)).annotateKey({
    description: "Why the endpoint gave no complete response; only operators see it"
  })
})
export type StoredAttempt = typeof StoredAttempt.Type

/**
 * An attempt as its organization sees it. The cause is left out, because it could reveal which ports of a network are
 * open.
 */
export const withoutCause = ({ failure: _, ...attempt }: StoredAttempt): Attempt => attempt

const fields = {
  event_id: Schema.String.annotateKey({ description: "The event that is delivered" }),
  event_type: TypeName.annotateKey({ description: "Its type" }),
  status: Schema.Literals(statuses).annotateKey({ description: "The status of the delivery" }),
  created_at: Timestamp.annotateKey({ description: "When the delivery was created" }),
  next_attempt_at: Schema.NullOr(Timestamp).annotateKey({
    description: "When the next attempt is due; null if there is none"
  })
}

/** A delivery as the log lists it. */
export const DeliveryEntry = Schema.Struct(fields).annotate({ identifier: "DeliveryEntry" })
export type DeliveryEntry = typeof DeliveryEntry.Type

/** A delivery with its attempts, newest first. */
export const Delivery = Schema.Struct({
  ...fields,
  attempts: Schema.Array(Attempt).annotateKey({ description: "The attempts, newest first" })
}).annotate({
  identifier: "Delivery"
})
export type Delivery = typeof Delivery.Type

/** How long to wait before each retry, counted from the end of the previous attempt (api.md, Retry schedule). */
const retriesAfterMs: ReadonlyArray<number> = [
  5 * secondMs,
  5 * minuteMs,
  30 * minuteMs,
  2 * hourMs,
  5 * hourMs,
  10 * hourMs,
  10 * hourMs
]
/** How many of the latest attempts are shown (api.md, Deliveries). */
const maxAttemptsShown = 20
/** Delivery to a subscription is turned off after it has failed for this long (api.md, Shut-off). */
export const shutOffAfterMs = 5 * dayMs

/** A delivery as stored. Times are milliseconds of workspace time. */
export const StoredDelivery = Schema.Struct({
  subscription_id: SubscriptionId,
  version: Schema.Int,
  /** Counts the steps in the delivery's schedule. A job for an earlier step makes no attempt. */
  schedule_step: Schema.Int,
  event_id: Schema.String,
  event_type: Schema.String,
  /** The IDs that the event is about, as in `NewEvent`. */
  about: Schema.Array(Schema.String),
  status: Schema.Literals(statuses),
  created_at: Schema.Int,
  next_attempt_at: Schema.NullOr(Schema.Int),
  /** The attempts, newest first. */
  attempts: Schema.Array(StoredAttempt),
  /** The body that is sent in every attempt. */
  payload: Schema.String,
  /** How many retries have been used since the event was queued or replayed. */
  retries: Schema.Int,
  /** The times of the delivery's replays, in milliseconds of real time. Five replays a day are allowed. */
  replays: Schema.Array(Schema.Int)
})
export type StoredDelivery = typeof StoredDelivery.Type

/** The former names, which `@quotewire/core/testing` exports. */
export { StoredAttempt as KeptAttempt, StoredDelivery as KeptDelivery }

/** The record kind for deliveries. The records are listed by subscription, in the order of their events. */
export const kind = Kind.make({
  name: "delivery",
  schema: StoredDelivery,
  kept_for: { period: "events", clock: "workspace" },
  listing: (delivery) => ({
    parent: delivery.subscription_id,
    status: isOpen(delivery) ? "open" : "closed",
    about: delivery.about
  })
})

/** Makes a new delivery of an event to a subscription. */
export const make = (options: {
  readonly subscription_id: SubscriptionId
  readonly event_id: string
  readonly event_type: string
  /** The IDs that the event is about; by default empty. */
  readonly about?: ReadonlyArray<string>
  readonly payload: string
  readonly at: number
  /** When the first attempt is due; immediately by default. */
  readonly due_at?: number
}): StoredDelivery => ({
  subscription_id: options.subscription_id,
  version: 1,
  schedule_step: 1,
  event_id: options.event_id,
  event_type: options.event_type,
  about: options.about ?? [],
  status: "pending",
  created_at: options.at,
  next_attempt_at: options.due_at ?? options.at,
  attempts: [],
  payload: options.payload,
  retries: 0,
  replays: []
})

/** Whether more attempts will follow. */
export const isOpen = ({ status }: StoredDelivery): boolean => status === "pending" || status === "retrying"

/** The result of an attempt. */
export interface AttemptOutcome {
  readonly attempted_at: number
  /** When the attempt ended. The wait before a retry is counted from here. */
  readonly ended_at: number
  /**
   * Whether a complete 2xx response came in time. Everything else, including a redirect, is a failure (api.md,
   * Confirmation).
   */
  readonly confirmed: boolean
  readonly response_status_code: number | null
  readonly response_duration_ms: number
  /** Why the response is missing or incomplete; null for a complete response. */
  readonly failure: SendFailure | null
  readonly trigger: "manual" | "scheduled"
}

/** Records an attempt in the delivery, and changes nothing else. */
export const withAttempt = (delivery: StoredDelivery, outcome: AttemptOutcome): StoredDelivery => {
  const attempt: StoredAttempt = {
    attempted_at: fromMillis(outcome.attempted_at),
    status: outcome.confirmed ? "succeeded" : "failed",
    response_status_code: outcome.response_status_code,
    response_duration_ms: outcome.response_duration_ms,
    trigger: outcome.trigger,
    ...(outcome.failure !== null && { failure: outcome.failure })
  }
  return {
    ...delivery,
    version: delivery.version + 1,
    attempts: [attempt, ...delivery.attempts].slice(0, maxAttemptsShown)
  }
}

/** The delivery after a scheduled or manual attempt: succeeded, to be retried, or failed. */
export const attempted = (delivery: StoredDelivery, outcome: AttemptOutcome): StoredDelivery => {
  const after = { ...withAttempt(delivery, outcome), schedule_step: delivery.schedule_step + 1 }
  if (outcome.confirmed) return finished(after, "succeeded")
  const waitMs = retriesAfterMs[delivery.retries]
  if (waitMs === undefined) return finished(after, "failed")
  return { ...after, status: "retrying", retries: delivery.retries + 1, next_attempt_at: outcome.ended_at + waitMs }
}

/** The delivery with its next attempt postponed, because nothing was sent this time. */
export const postponed = (delivery: StoredDelivery, until: number): StoredDelivery => ({
  ...delivery,
  version: delivery.version + 1,
  next_attempt_at: until
})

/** The delivery with a final status. Its version stays the same. */
export const finished = (delivery: StoredDelivery, status: "succeeded" | "failed" | "cancelled"): StoredDelivery => ({
  ...delivery,
  status,
  next_attempt_at: null
})

/** The times of the replays that count toward the daily limit. `realNow` is in milliseconds. */
export const recentReplays = ({ replays }: StoredDelivery, realNow: number): ReadonlyArray<number> =>
  replays.filter((replay) => replay > realNow - dayMs)

/** The delivery after a replay was requested. Its retry schedule starts over. */
export const replayed = (delivery: StoredDelivery, now: number, realNow: number): StoredDelivery => ({
  ...delivery,
  version: delivery.version + 1,
  schedule_step: delivery.schedule_step + 1,
  status: "pending",
  next_attempt_at: now,
  retries: 0,
  replays: [...recentReplays(delivery, realNow), realNow]
})

/** How many times an event may be replayed in a day (api.md, Fixed limits). */
export const maxReplays = 5

/** The delivery after it was cancelled. No more attempts are made. */
export const cancelled = (delivery: StoredDelivery): StoredDelivery => finished(withNextStep(delivery), "cancelled")

/** The delivery after its job was abandoned. */
export const abandoned = (delivery: StoredDelivery): StoredDelivery => finished(withNextStep(delivery), "failed")

const withNextStep = (delivery: StoredDelivery): StoredDelivery => ({
  ...delivery,
  version: delivery.version + 1,
  schedule_step: delivery.schedule_step + 1
})

/** A delivery as the log lists it. */
export const entryOf = (delivery: StoredDelivery): DeliveryEntry => ({
  event_id: delivery.event_id,
  event_type: delivery.event_type,
  status: delivery.status,
  created_at: fromMillis(delivery.created_at),
  next_attempt_at: delivery.next_attempt_at === null ? null : fromMillis(delivery.next_attempt_at)
})

const bodyCharacters = 26

/** The record ID of a delivery. IDs sort in the order of the events, including test events. */
export const idOf = (subscriptionId: SubscriptionId, eventId: string): string =>
  `${idPrefixOf(eventId)}${subscriptionId}`

/** The common prefix of the record IDs of an event's deliveries. */
export const idPrefixOf = (eventId: string): string => `${eventId.slice(-bodyCharacters)} `

/** The stored record of one version of a delivery. */
export const toStored = (delivery: StoredDelivery, now: number): StoredRecord =>
  kind.record(delivery, {
    id: idOf(delivery.subscription_id, delivery.event_id),
    version: delivery.version,
    created_at: delivery.created_at,
    updated_at: now
  })

/**
 * The lanes of one subscription. Each lane runs at most `limit` attempts at a time.
 *
 * Once an endpoint is known to hang, first attempts go to `trials`, which runs few at a time, and retries go to
 * `one_by_one`. Attempts that a sandbox's clock jumped over are also made one by one, in the order in which they were
 * due.
 */
const lanes = {
  fresh: { name: "fresh", limit: 8, urgent: true },
  retries: { name: "retries", limit: 4, urgent: false },
  trials: { name: "trials", limit: 2, urgent: true },
  one_by_one: { name: "one by one", limit: 1, urgent: false },
  replays: { name: "replays", limit: 1, urgent: false }
} as const satisfies { readonly [name: string]: JobLane }

/** The fields of a subscription that decide the lane. */
interface Recipient {
  readonly hangs: boolean
  readonly environment: Environment
}

/** The clock jumped over a sandbox attempt if the attempt is overdue by more than this. */
const jumpedMs = 5 * minuteMs

/**
 * The job for a delivery's next scheduled attempt. New events do not wait behind retries.
 *
 * While a sandbox's clock advances, `now` is the clock's target: the clock is about to jump over attempts that are due
 * before it.
 */
export const attemptJob = (delivery: StoredDelivery, endpoint: Recipient, now: number): NewJob =>
  jobOf(delivery, delivery.schedule_step, "scheduled", laneOf(delivery, endpoint, now))

/**
 * The job for the attempt of a test or a manual replay. It shares the lane of new events, because the caller is waiting
 * for the attempt.
 */
export const manualJob = (delivery: StoredDelivery): NewJob =>
  jobOf(delivery, delivery.schedule_step, "manual", lanes.fresh)

/** The lane for an attempt. `now` is a time that the clock has reached or will jump to. */
const laneOf = (
  { retries, next_attempt_at }: StoredDelivery,
  { hangs, environment }: Recipient,
  now: number
): JobLane => {
  const isJumped = environment === "sandbox" && next_attempt_at !== null && next_attempt_at < now
  if (isJumped || (hangs && retries > 0)) return lanes.one_by_one
  if (hangs) return lanes.trials
  return retries === 0 ? lanes.fresh : lanes.retries
}

/**
 * The job of a scheduled attempt, moved to the lane where it belongs now; null if the job is already there. The job
 * belongs in another lane when the endpoint starts or stops hanging, or when the clock jumps over the attempt.
 *
 * An attempt that is only a few minutes late was not jumped over. In a sandbox, attempts in the `one_by_one` lane stay
 * there.
 */
export const movedJob = (
  job: ClaimedJob,
  delivery: StoredDelivery,
  endpoint: Recipient,
  now: number
): NewJob | null => {
  const { subscription_id } = delivery
  const oneByOne = laneFor(subscription_id, lanes.one_by_one)
  if (endpoint.environment === "sandbox" && job.lane?.name === oneByOne.name) return null
  const lane = laneFor(subscription_id, laneOf(delivery, endpoint, now - jumpedMs))
  return job.lane === undefined || job.lane.name === lane.name ? null : { ...partsOf(job), lane }
}

/** The job that makes the same attempt at a later time, because nothing has been sent yet. */
export const laterJob = (job: ClaimedJob, payload: JobPayload.Payloads["deliver"], due_at: number): NewJob =>
  JobPayload.make("deliver", payload, { ...partsOf(job), due_at })

const partsOf = (job: ClaimedJob): NewJob => ({
  kind: job.kind,
  due_at: job.due_at,
  ordered: job.ordered,
  payload: job.payload,
  ...(job.lane !== undefined && { lane: job.lane })
})

/**
 * The job for an attempt in a sandbox's replay. These attempts run one after another, so that they arrive in the
 * replay's order.
 *
 * If `scheduleStep` is null, the attempt is made outside the schedule, regardless of the delivery's state.
 */
export const replayJob = (delivery: StoredDelivery, scheduleStep: number | null, dueAt: number): NewJob =>
  jobOf({ ...delivery, next_attempt_at: dueAt }, scheduleStep, "manual", lanes.replays)

const jobOf = (
  { subscription_id, event_id, next_attempt_at, created_at }: StoredDelivery,
  schedule_step: number | null,
  trigger: "manual" | "scheduled",
  lane: JobLane
): NewJob =>
  JobPayload.make(
    "deliver",
    { subscription_id, event_id, schedule_step, trigger },
    { due_at: next_attempt_at ?? created_at, ordered: false, lane: laneFor(subscription_id, lane) }
  )

const laneFor = (subscriptionId: SubscriptionId, lane: JobLane): JobLane => ({
  ...lane,
  name: `${subscriptionId} ${lane.name}`
})

/**
 * The job that cancels a subscription's open deliveries, after delivery to the subscription was turned off at `due_at`.
 */
export const cancelJob = (subscription_id: SubscriptionId, due_at: number): NewJob =>
  JobPayload.make("cancel_deliveries", { subscription_id }, { due_at, ordered: false })

/** The job that drops a subscription if it is still unfinished at `due_at`. In a sandbox, the job is ordered. */
export const dropJob = (subscription_id: SubscriptionId, due_at: number, isOrdered: boolean): NewJob =>
  JobPayload.make("drop_subscription", { subscription_id }, { due_at, ordered: isOrdered })
