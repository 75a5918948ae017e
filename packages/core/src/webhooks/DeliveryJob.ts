import type { SubscriptionId } from "../Ids.ts"
import type { JobPayload } from "../quoting/JobPayload.ts"
import type { JobLane, NewJob } from "../storage/Job.ts"
import type { KeptDelivery } from "./Delivery.ts"

/** At most so many attempts run at a time for one subscription: fresh ones, retries, and a sandbox's replays. */
const max_fresh = 11
const max_retries = 4
const max_replays = 1

/** The next attempt of a delivery. Fresh events and manual attempts do not wait behind retries. */
export const attemptJob = (delivery: KeptDelivery, trigger: "manual" | "scheduled"): NewJob =>
  delivery.retries === 0
    ? jobOf(delivery, delivery.turn, trigger, { name: "fresh", limit: max_fresh, urgent: true })
    : jobOf(delivery, delivery.turn, trigger, { name: "retries", limit: max_retries, urgent: false })

/**
 * An attempt that a sandbox's replay makes: one after the other, so that they arrive in the order that they are told in.
 *
 * Without a turn it is made beside the schedule, whatever has become of the delivery.
 */
export const replayJob = (delivery: KeptDelivery, turn: number | null, due_at: number): NewJob =>
  jobOf({ ...delivery, next_attempt_at: due_at }, turn, "manual", {
    name: "replays",
    limit: max_replays,
    urgent: false
  })

const jobOf = (
  { subscription_id, event_id, next_attempt_at, created_at }: KeptDelivery,
  turn: number | null,
  trigger: "manual" | "scheduled",
  lane: JobLane
): NewJob => {
  const payload: JobPayload["deliver"] = { subscription_id, event_id, turn, trigger }
  return {
    kind: "deliver",
    due_at: next_attempt_at ?? created_at,
    ordered: false,
    lane: { ...lane, name: `${subscription_id} ${lane.name}` },
    payload: JSON.stringify(payload)
  }
}

/** Cancels what was to come of a subscription that was turned off at that moment. */
export const cancelJob = (subscription_id: SubscriptionId, due_at: number): NewJob =>
  subscriptionJob("cancel_deliveries", subscription_id, due_at, false)

/** Drops a subscription that is not finished by then. A sandbox's timers are ordered. */
export const dropJob = (subscription_id: SubscriptionId, due_at: number, ordered: boolean): NewJob =>
  subscriptionJob("drop_subscription", subscription_id, due_at, ordered)

const subscriptionJob = (
  kind: "cancel_deliveries" | "drop_subscription",
  subscription_id: SubscriptionId,
  due_at: number,
  ordered: boolean
): NewJob => {
  const payload: JobPayload["cancel_deliveries"] = { subscription_id }
  return { kind, due_at, ordered, payload: JSON.stringify(payload) }
}
