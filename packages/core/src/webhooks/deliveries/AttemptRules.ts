import type { Change, StoredRecord } from "../../storage/Change.ts"
import type { NewJob } from "../../storage/Job.ts"
import * as Delivery from "../records/Delivery.ts"
import * as EndpointHealth from "../records/EndpointHealth.ts"
import * as Subscription from "../records/EventSubscription.ts"

/** An attempt that has ended. */
export interface EndedAttempt {
  /** The step of the delivery's schedule; null for an attempt outside the schedule. */
  readonly schedule_step: number | null
  /** The delivery in its newest known version. */
  readonly delivery: Delivery.KeptDelivery
  readonly outcome: Delivery.AttemptOutcome
  /** When its job was started, in milliseconds of workspace time. */
  readonly now: number
}

/** The subscription and the health that all attempts to one endpoint share. */
export interface Endpoint {
  readonly subscription: Subscription.KeptSubscription
  readonly health: EndpointHealth.KeptHealth
}

/** The changes that follow from a batch of attempts. */
export interface AttemptChanges extends Pick<Change, "writes" | "jobs"> {
  /** The endpoint after these changes are stored. */
  readonly endpoint: Endpoint
}

/** The changes that follow from one attempt. */
interface Step extends Endpoint {
  readonly delivery: Delivery.KeptDelivery
  readonly jobs: ReadonlyArray<NewJob>
}

/** Applies one attempt to the state after those before it (api.md, Retry schedule). */
const step = (
  { subscription, health: before }: Endpoint,
  { schedule_step, delivery, outcome, now }: EndedAttempt
): Step => {
  const { ended_at } = outcome
  const health = EndpointHealth.attempted(before, outcome)
  // After five days of failures delivery turns off, and all open deliveries are cancelled.
  const turnsOff =
    !outcome.confirmed && Subscription.receives(subscription) && EndpointHealth.isShutOff(health, outcome.attempted_at)
  const hangs = EndpointHealth.hangs(health)
  const known = subscription.hangs === hangs ? subscription : Subscription.withHangs(subscription, hangs)
  const changed = turnsOff ? Subscription.change(known, { delivery_enabled: false }, ended_at) : known
  // An attempt outside the schedule, or one whose delivery was cancelled in the meantime, is only recorded.
  const isNext = Delivery.isOpen(delivery) && delivery.schedule_step === schedule_step
  const next = isNext ? Delivery.attempted(delivery, outcome) : Delivery.withAttempt(delivery, outcome)
  // If delivery was turned off, now or during the attempt, no attempt follows.
  const isCancelled = Delivery.isOpen(next) && !Subscription.receives(changed)
  const last = isCancelled ? Delivery.finished(next, "cancelled") : next
  const retries = isNext && Delivery.isOpen(last) ? [Delivery.attemptJob(last, changed, Math.max(now, ended_at))] : []
  return {
    subscription: changed,
    health,
    delivery: last,
    jobs: turnsOff ? [...retries, Delivery.cancelJob(changed.id, ended_at)] : retries
  }
}

/**
 * Applies the attempts to one endpoint, one after another. The result is the same as if each were committed alone, but
 * each record is written only once.
 *
 * `stored` is the endpoint as stored; every written record has the next version.
 */
export const applyAttempts = (stored: Endpoint, attempts: ReadonlyArray<EndedAttempt>): AttemptChanges => {
  let { subscription, health }: Endpoint = stored
  let at = 0
  const deliveries = new Map<string, { readonly last: Delivery.KeptDelivery; readonly record: StoredRecord }>()
  const jobs: Array<NewJob> = []
  for (const ended of attempts) {
    const { event_id } = ended.delivery
    const before = deliveries.get(event_id)
    const after = step({ subscription, health }, before === undefined ? ended : { ...ended, delivery: before.last })
    const last = { ...after.delivery, version: before?.last.version ?? after.delivery.version }
    at = ended.outcome.ended_at
    deliveries.set(event_id, { last, record: Delivery.toStored(last, at) })
    subscription = after.subscription
    health = after.health
    jobs.push(...after.jobs)
  }
  const writes = [...deliveries.values()].map(({ record }) => record)
  health = { ...health, version: stored.health.version + 1 }
  writes.push(EndpointHealth.toStored(health, subscription, at))
  if (subscription !== stored.subscription) {
    subscription = { ...subscription, version: stored.subscription.version + 1 }
    writes.push(Subscription.toStored(subscription))
  }
  return { writes, jobs, endpoint: { subscription, health } }
}
