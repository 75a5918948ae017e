import * as JobPayload from "../../runner/JobPayload.ts"
import type { ClaimedJob, JobLane, NewJob } from "../../storage/Job.ts"
import type { SubscriptionId } from "../../wire/Ids.ts"
import { minute_ms } from "../../wire/Timestamp.ts"
import type { KeptSubscription } from "../subscriptions/EventSubscription.ts"
import type { KeptDelivery } from "./Delivery.ts"

/**
 * The lanes of one subscription. Each runs at most `limit` attempts at a time; together that is sixteen.
 *
 * After a few attempts an endpoint is known to hang. From then on only `trials` sends to it, a few at a time. Attempts that
 * a sandbox's clock jumped over are made one by one, in due order.
 */
const lanes = {
  fresh: { name: "fresh", limit: 8, urgent: true },
  retries: { name: "retries", limit: 4, urgent: false },
  trials: { name: "trials", limit: 2, urgent: true },
  one_by_one: { name: "one by one", limit: 1, urgent: false },
  replays: { name: "replays", limit: 1, urgent: false }
} as const satisfies { readonly [name: string]: JobLane }

/** The parts of a subscription that decide the lane. */
type Endpoint = Pick<KeptSubscription, "hangs" | "environment">

/** An attempt in a sandbox that is overdue by more than this was jumped over by the clock. */
const jumped_ms = 5 * minute_ms

/**
 * The next scheduled attempt of a delivery. Fresh events do not wait behind retries.
 *
 * While a sandbox's clock advances, `now` is its target: attempts that are due before it count as jumped over.
 */
export const attemptJob = (delivery: KeptDelivery, endpoint: Endpoint, now: number): NewJob =>
  jobOf(delivery, delivery.schedule_step, "scheduled", laneOf(delivery, endpoint, now))

/** The attempt of a test or a manual replay. It goes with the fresh events, because someone is waiting for it. */
export const manualJob = (delivery: KeptDelivery): NewJob =>
  jobOf(delivery, delivery.schedule_step, "manual", lanes.fresh)

/** The lane of an attempt at a time that the clock has reached or will jump to. */
const laneOf = ({ retries, next_attempt_at }: KeptDelivery, { hangs, environment }: Endpoint, now: number): JobLane => {
  const isJumped = environment === "sandbox" && next_attempt_at !== null && next_attempt_at < now
  if (isJumped || (hangs && retries > 0)) return lanes.one_by_one
  if (hangs) return lanes.trials
  return retries === 0 ? lanes.fresh : lanes.retries
}

/**
 * The job of a scheduled attempt, moved to the lane where it belongs now; null if it is there already. The lane changes when
 * the endpoint begins or stops to hang, or when the clock jumps over the attempt.
 *
 * An attempt that is only some minutes late was not jumped over. In a sandbox, one-by-one attempts keep their lane.
 */
export const movedJob = (job: ClaimedJob, delivery: KeptDelivery, endpoint: Endpoint, now: number): NewJob | null => {
  const { subscription_id } = delivery
  const oneByOne = laneFor(subscription_id, lanes.one_by_one)
  if (endpoint.environment === "sandbox" && job.lane?.name === oneByOne.name) return null
  const lane = laneFor(subscription_id, laneOf(delivery, endpoint, now - jumped_ms))
  return job.lane === undefined || job.lane.name === lane.name ? null : { ...partsOf(job), lane }
}

/** The same attempt at a later time. Nothing was sent. */
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
 * An attempt of a sandbox's replay. They run one after another, so that they arrive in the order of the replay.
 *
 * With `schedule_step: null` the attempt is made outside the schedule, whatever the state of the delivery.
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

/** The job that cancels the open deliveries of a subscription that was turned off at that time. */
export const cancelJob = (subscription_id: SubscriptionId, due_at: number): NewJob =>
  JobPayload.make("cancel_deliveries", { subscription_id }, { due_at, ordered: false })

/** The job that drops a subscription if it is still unfinished at that time. In a sandbox it is ordered. */
export const dropJob = (subscription_id: SubscriptionId, due_at: number, ordered: boolean): NewJob =>
  JobPayload.make("drop_subscription", { subscription_id }, { due_at, ordered })
