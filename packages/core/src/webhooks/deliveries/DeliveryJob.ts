import * as JobPayload from "../../runner/JobPayload.ts"
import type { ClaimedJob, JobLane, NewJob } from "../../storage/Job.ts"
import type { SubscriptionId } from "../../wire/Ids.ts"
import { minute_ms } from "../../wire/Timestamp.ts"
import type { KeptSubscription } from "../subscriptions/EventSubscription.ts"
import type { KeptDelivery } from "./Delivery.ts"

/**
 * The lanes of one subscription: at most so many attempts run at a time in each, and sixteen in all.
 *
 * An endpoint that hangs is known after a few attempts: from then on it is only tried, by a few at a time. What a sandbox's
 * clock has jumped over is attempted one by one, in the order in which it was due.
 */
const lanes = {
  fresh: { name: "fresh", limit: 8, urgent: true },
  retries: { name: "retries", limit: 4, urgent: false },
  trials: { name: "trials", limit: 2, urgent: true },
  one_by_one: { name: "one by one", limit: 1, urgent: false },
  replays: { name: "replays", limit: 1, urgent: false }
} as const satisfies { readonly [name: string]: JobLane }

/** What the choice of a lane needs to know of a subscription. */
type Endpoint = Pick<KeptSubscription, "hangs" | "environment">

/** A sandbox's attempt that waits to be made was jumped over when it is due for longer than this. */
const jumped_ms = 5 * minute_ms

/**
 * The next scheduled attempt of a delivery, made at a moment of workspace time. Fresh events do not wait behind retries.
 *
 * Where the clock is on its way, `now` is where it is going: what comes due before that is jumped over.
 */
export const attemptJob = (delivery: KeptDelivery, endpoint: Endpoint, now: number): NewJob =>
  jobOf(delivery, delivery.schedule_step, "scheduled", laneOf(delivery, endpoint, now))

/** The attempt of a test or a replay, which goes with the fresh events: whoever asks for it wants to see it. */
export const manualJob = (delivery: KeptDelivery): NewJob =>
  jobOf(delivery, delivery.schedule_step, "manual", lanes.fresh)

/** The lane of an attempt at a moment that the clock has reached, or jumped to. */
const laneOf = ({ retries, next_attempt_at }: KeptDelivery, { hangs, environment }: Endpoint, now: number): JobLane => {
  const isJumped = environment === "sandbox" && next_attempt_at !== null && next_attempt_at < now
  if (isJumped || (hangs && retries > 0)) return lanes.one_by_one
  if (hangs) return lanes.trials
  return retries === 0 ? lanes.fresh : lanes.retries
}

/**
 * The job of a scheduled attempt in its right lane, where the endpoint has begun to hang, or to answer, since the job was
 * made, or the clock has jumped over it; null where it is in it.
 *
 * An attempt that was made late is not one that was jumped over, for some minutes. What goes one by one in a sandbox goes on so.
 */
export const movedJob = (job: ClaimedJob, delivery: KeptDelivery, endpoint: Endpoint, now: number): NewJob | null => {
  const { subscription_id } = delivery
  const oneByOne = laneFor(subscription_id, lanes.one_by_one)
  if (endpoint.environment === "sandbox" && job.lane?.name === oneByOne.name) return null
  const lane = laneFor(subscription_id, laneOf(delivery, endpoint, now - jumped_ms))
  return job.lane === undefined || job.lane.name === lane.name ? null : { ...partsOf(job), lane }
}

/** The same attempt later: nothing was sent. */
export const laterJob = (job: ClaimedJob, payload: JobPayload.Payloads["deliver"], due_at: number): NewJob =>
  JobPayload.make("deliver", payload, { ...partsOf(job), due_at })

const partsOf = ({ kind, due_at, ordered, lane, payload }: ClaimedJob): NewJob => ({
  kind,
  due_at,
  ordered,
  payload,
  ...(lane !== undefined && { lane })
})

/**
 * An attempt that a sandbox's replay makes: one after the other, so that they arrive in the order that they are told in.
 *
 * Without a turn it is made beside the schedule, whatever has become of the delivery.
 */
export const replayJob = (delivery: KeptDelivery, schedule_step: number | null, due_at: number): NewJob =>
  jobOf({ ...delivery, next_attempt_at: due_at }, schedule_step, "manual", lanes.replays)

const jobOf = (
  { subscription_id, event_id, next_attempt_at, created_at }: KeptDelivery,
  schedule_step: number | null,
  trigger: "manual" | "scheduled",
  lane: JobLane
): NewJob =>
  JobPayload.make(
    "deliver",
    { subscription_id, event_id, schedule_step, trigger },
    { due_at: next_attempt_at ?? created_at, ordered: false, lane: laneFor(subscription_id, lane) }
  )

const laneFor = (subscription_id: SubscriptionId, lane: JobLane): JobLane => ({
  ...lane,
  name: `${subscription_id} ${lane.name}`
})

/** Cancels what was to come of a subscription that was turned off at that moment. */
export const cancelJob = (subscription_id: SubscriptionId, due_at: number): NewJob =>
  JobPayload.make("cancel_deliveries", { subscription_id }, { due_at, ordered: false })

/** Drops a subscription that is not finished by then. A sandbox's timers are ordered. */
export const dropJob = (subscription_id: SubscriptionId, due_at: number, ordered: boolean): NewJob =>
  JobPayload.make("drop_subscription", { subscription_id }, { due_at, ordered })
