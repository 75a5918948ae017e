import type { Change, StoredRecord } from "../../storage/Change.ts"
import type { NewJob } from "../../storage/Job.ts"
import * as Delivery from "./Delivery.ts"
import * as EndpointHealth from "./EndpointHealth.ts"
import * as StoredSubscription from "./StoredSubscription.ts"

/*
 * A webhook endpoint is stored as two records. The subscription contains the event types, the URL and the secrets; the
 * health says how the endpoint has responded. All attempts to an endpoint share these two records, and each may change
 * them.
 */

/** The subscription and the health of one endpoint, which all attempts to it share. */
export interface WebhookEndpoint {
  readonly subscription: StoredSubscription.StoredSubscription
  readonly health: EndpointHealth.EndpointHealth
}

/** An attempt that has ended. */
export interface EndedAttempt {
  /** The step in the delivery's schedule; null for an attempt outside the schedule. */
  readonly schedule_step: number | null
  /** The newest known version of the delivery. */
  readonly delivery: Delivery.StoredDelivery
  readonly outcome: Delivery.AttemptOutcome
  /** When the attempt's job began, in milliseconds of workspace time. */
  readonly now: number
}

/** The changes that a batch of attempts makes. */
export interface AttemptChanges extends Pick<Change, "writes" | "jobs"> {
  /** The endpoint after these changes are stored. */
  readonly endpoint: WebhookEndpoint
}

/** The changes that one attempt makes. */
interface Step extends WebhookEndpoint {
  readonly delivery: Delivery.StoredDelivery
  readonly jobs: ReadonlyArray<NewJob>
}

/** Applies one attempt to the state that earlier attempts left (api.md, Retry schedule). */
const step = (
  { subscription, health: previous }: WebhookEndpoint,
  { schedule_step, delivery, outcome, now }: EndedAttempt
): Step => {
  const { ended_at } = outcome
  const health = EndpointHealth.afterAttempt(previous, outcome)
  // After five days of failures, delivery is turned off and all open deliveries are cancelled.
  const turnsOff =
    !outcome.confirmed &&
    StoredSubscription.receives(subscription) &&
    EndpointHealth.isShutOff(health, outcome.attempted_at)
  const isHanging = EndpointHealth.isHanging(health)
  // `updated_at` stays the same, because the owner sees no change.
  const withHangs =
    subscription.hangs === isHanging
      ? subscription
      : StoredSubscription.changed(subscription, { hangs: isHanging }, subscription.updated_at)
  const afterOutcome = turnsOff
    ? StoredSubscription.changed(withHangs, { delivery_enabled: false }, ended_at)
    : withHangs
  // If the attempt is outside the schedule, or its delivery was cancelled in the meantime, it is only recorded.
  const isNext = Delivery.isOpen(delivery) && delivery.schedule_step === schedule_step
  const next = isNext ? Delivery.attempted(delivery, outcome) : Delivery.withAttempt(delivery, outcome)
  // If delivery was turned off, now or during the attempt, no more attempts follow.
  const isCancelled = Delivery.isOpen(next) && !StoredSubscription.receives(afterOutcome)
  const last = isCancelled ? Delivery.finished(next, "cancelled") : next
  const retries =
    isNext && Delivery.isOpen(last) ? [Delivery.attemptJob(last, afterOutcome, Math.max(now, ended_at))] : []
  return {
    subscription: afterOutcome,
    health,
    delivery: last,
    jobs: turnsOff ? [...retries, Delivery.cancelJob(afterOutcome.id, ended_at)] : retries
  }
}

/**
 * Applies the attempts to one endpoint, one after another. The result is the same as if each were committed separately,
 * except that each record is written only once.
 *
 * `endpoint` is the endpoint as stored. Every written record has the next version.
 */
export const applyAttempts = (endpoint: WebhookEndpoint, attempts: ReadonlyArray<EndedAttempt>): AttemptChanges => {
  let { subscription, health }: WebhookEndpoint = endpoint
  let at = 0
  const deliveries = new Map<string, { readonly last: Delivery.StoredDelivery; readonly record: StoredRecord }>()
  const jobs: Array<NewJob> = []
  for (const ended of attempts) {
    const { event_id } = ended.delivery
    const earlierStep = deliveries.get(event_id)
    const stepped = step(
      { subscription, health },
      earlierStep === undefined ? ended : { ...ended, delivery: earlierStep.last }
    )
    const last = { ...stepped.delivery, version: earlierStep?.last.version ?? stepped.delivery.version }
    at = ended.outcome.ended_at
    deliveries.set(event_id, { last, record: Delivery.toStored(last, at) })
    subscription = stepped.subscription
    health = stepped.health
    jobs.push(...stepped.jobs)
  }
  const writes = [...deliveries.values()].map(({ record }) => record)
  health = { ...health, version: endpoint.health.version + 1 }
  writes.push(EndpointHealth.toStored(health, subscription, at))
  if (subscription !== endpoint.subscription) {
    subscription = { ...subscription, version: endpoint.subscription.version + 1 }
    writes.push(StoredSubscription.toStored(subscription))
  }
  return { writes, jobs, endpoint: { subscription, health } }
}
