import type { Change, StoredRecord } from "../../storage/Change.ts"
import type { NewJob } from "../../storage/Job.ts"
import * as Subscription from "../subscriptions/EventSubscription.ts"
import * as Delivery from "./Delivery.ts"
import { attemptJob, cancelJob } from "./DeliveryJob.ts"
import * as EndpointHealth from "./EndpointHealth.ts"

/** An attempt that is over. */
export interface Ended {
  /** The turn of the delivery that it was; null for an attempt beside the schedule. */
  readonly schedule_step: number | null
  /** The newest version of the delivery that is known. */
  readonly delivery: Delivery.KeptDelivery
  readonly outcome: Delivery.Outcome
  /** When its job was begun, in milliseconds of workspace time. */
  readonly now: number
}

/** What attempts have in common that went to one endpoint. */
export interface Endpoint {
  readonly subscription: Subscription.KeptSubscription
  readonly health: EndpointHealth.KeptHealth
}

/** What attempts come to. */
export interface Concluded extends Pick<Change, "writes" | "jobs"> {
  /** How the endpoint stands when this is stored. */
  readonly endpoint: Endpoint
}

/** What follows from one attempt. */
interface Step extends Endpoint {
  readonly delivery: Delivery.KeptDelivery
  readonly jobs: ReadonlyArray<NewJob>
}

/** What follows from an attempt, given what followed from those before it (api.md, Webhook delivery 5 and 6). */
const step = ({ subscription, health: before }: Endpoint, { schedule_step, delivery, outcome, now }: Ended): Step => {
  const { ended_at } = outcome
  const health = EndpointHealth.attempted(before, outcome)
  // Five days of failures: delivery turns off, and everything that was to come is cancelled.
  const turnsOff =
    !outcome.confirmed && Subscription.receives(subscription) && EndpointHealth.isShutOff(health, outcome.attempted_at)
  const hangs = EndpointHealth.hangs(health)
  const known = subscription.hangs === hangs ? subscription : Subscription.hanging(subscription, hangs)
  const told = turnsOff ? Subscription.change(known, { delivery_enabled: false }, ended_at) : known
  // An attempt beside the schedule, and one that was overtaken by a cancellation, only go on record.
  const isNext = Delivery.isOpen(delivery) && delivery.schedule_step === schedule_step
  const next = isNext ? Delivery.attempted(delivery, outcome) : Delivery.noted(delivery, outcome)
  // Turned off now, or while the attempt was under way: nothing more is to come.
  const isOver = Delivery.isOpen(next) && !Subscription.receives(told)
  const last = isOver ? Delivery.ended(next, "cancelled") : next
  const retries = isNext && Delivery.isOpen(last) ? [attemptJob(last, told, Math.max(now, ended_at))] : []
  return {
    subscription: told,
    health,
    delivery: last,
    jobs: turnsOff ? [...retries, cancelJob(told.id, ended_at)] : retries
  }
}

/**
 * What attempts that went to one endpoint come to, one after the other: the same as if each were written by itself, but
 * that a record is written once.
 *
 * `stored` is what stands in storage; each written version follows it.
 */
export const conclude = (stored: Endpoint, attempts: ReadonlyArray<Ended>): Concluded => {
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
