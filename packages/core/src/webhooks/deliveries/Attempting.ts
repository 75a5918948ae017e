import { Clock, Effect, Metric } from "effect"
import type { Mac } from "effect/crypto"
import type { Seal } from "../../access/Seal.ts"
import { Slot } from "../../concurrency/Slot.ts"
import * as JobPayload from "../../runner/JobPayload.ts"
import * as Change from "../../storage/Change.ts"
import type { ClaimedJob } from "../../storage/Job.ts"
import { retryOnConflict } from "../../storage/retryOnConflict.ts"
import type { Storage } from "../../storage/Storage.ts"
import { minute_ms, second_ms } from "../../wire/Timestamp.ts"
import * as Signature from "../Signature.ts"
import * as Subscription from "../subscriptions/EventSubscription.ts"
import * as SigningSecrets from "../subscriptions/SigningSecrets.ts"
import { loadDelivery, loadSubscription } from "../subscriptions/SubscriptionStore.ts"
import { isConfirmed, type WebhookSender } from "../WebhookSender.ts"
import type { Write } from "./AttemptWriter.ts"
import * as Delivery from "./Delivery.ts"
import { laterJob, movedJob } from "./DeliveryJob.ts"

/** What attempts work with. */
export interface Means {
  readonly storage: Storage["Service"]
  readonly seal: Seal["Service"]
  readonly mac: Mac.Mac["Service"]
  readonly sender: WebhookSender["Service"]
  readonly keys: Signature.Keys
  readonly opened: SigningSecrets.Opened
  readonly write: Write
  /** The prefix of the second set of headers, such as `quotewire-`. */
  readonly header_prefix: string
}

/** An attempt that is due. */
interface Due {
  readonly job: ClaimedJob
  readonly trigger: "manual" | "scheduled"
  /** The turn of the delivery that it is; null for an attempt beside the schedule. */
  readonly schedule_step: number | null
  readonly delivery: Delivery.KeptDelivery
  readonly subscription: Subscription.KeptSubscription
}

/** Attempts one delivery: load, sign, send, and commit what came of it, together with the end of the job. */
export const attempt = Effect.fnUntraced(function* (means: Means, job: ClaimedJob, now: number) {
  const due = yield* load(means, job)
  if (due === null) return yield* means.storage.commit(Change.make(job.workspace_id, { finishes: [job] }))
  const { delivery, subscription } = due
  // A sandbox's attempt happens at its due time, so that one jump of the clock tells the story of many small steps.
  const at = subscription.environment === "sandbox" ? job.due_at : now
  if (!Subscription.receives(subscription)) {
    const writes = Delivery.isOpen(delivery) ? [Delivery.toStored(Delivery.cancelled(delivery), at)] : []
    return yield* means.storage.commit(Change.make(job.workspace_id, { writes, finishes: [job] }))
  }
  const moved = due.trigger === "scheduled" ? movedJob(job, delivery, subscription, now) : null
  if (moved !== null)
    return yield* means.storage.commit(Change.make(job.workspace_id, { jobs: [moved], finishes: [job] }))
  const sent = yield* send(means, due, at)
  if (sent.failure === "busy") return yield* retryOnConflict(postpone(means, due, at + sent.duration_ms))
  yield* Metric.update(isConfirmed(sent) ? confirmedAttempts : failedAttempts, 1)
  const outcome: Delivery.Outcome = {
    attempted_at: at,
    ended_at: at + sent.duration_ms,
    confirmed: isConfirmed(sent),
    response_status_code: sent.response_status_code,
    response_duration_ms: sent.duration_ms,
    hung: sent.failure === "timeout",
    trigger: due.trigger
  }
  yield* means.write({
    job,
    schedule_step: due.schedule_step,
    delivery,
    subscription_id: subscription.id,
    outcome,
    now
  })
})

const attempts = Metric.counter("quotewire_webhook_attempts_total", {
  description: "Attempts to deliver an event, by outcome.",
  incremental: true
})
const confirmedAttempts = Metric.withAttributes(attempts, { outcome: "succeeded" })
const failedAttempts = Metric.withAttributes(attempts, { outcome: "failed" })

/** What a job is to attempt; null where a newer job, a cancellation or an erasure has taken its place. */
const load = Effect.fnUntraced(function* ({ storage }: Means, job: ClaimedJob) {
  const { subscription_id, event_id, schedule_step, trigger } = JobPayload.read(job, "deliver")
  const [delivery, subscription] = yield* Effect.all(
    [
      loadDelivery(storage, job.workspace_id, subscription_id, event_id),
      loadSubscription(storage, job.workspace_id, subscription_id)
    ],
    { concurrency: 2 }
  )
  if (delivery === null || subscription === null) return null
  if (schedule_step !== null && (delivery.schedule_step !== schedule_step || !Delivery.isOpen(delivery))) return null
  const due: Due = { job, trigger, schedule_step, delivery, subscription }
  return due
})

const send = Effect.fnUntraced(function* (means: Means, { delivery, subscription }: Due, at: number) {
  const secrets = yield* SigningSecrets.open(means.seal, subscription, at, means.opened)
  // Recipients compare the timestamp with their own clocks: real time, wherever the workspace's clock stands.
  const timestamp = Math.floor((yield* Clock.currentTimeMillis) / second_ms)
  const signature = yield* Signature.sign(
    means.mac,
    secrets,
    delivery.event_id,
    timestamp,
    delivery.payload,
    means.keys
  )
  const slot = yield* Slot
  // A hanging endpoint takes no place of the runner's from anybody else's work.
  return yield* slot.release(
    means.sender.send({
      url: subscription.url,
      headers: {
        "content-type": "application/json",
        ...Signature.headersOf({ id: delivery.event_id, timestamp, signature, prefix: means.header_prefix })
      },
      body: delivery.payload
    })
  )
})

/** An attempt is put off so often, by 5 seconds more each time and 5 minutes at the most: for some six hours. */
const max_postponed = 100
const putOff_ms = (times: number): number => Math.min(5 * second_ms * times, 5 * minute_ms)

/**
 * Puts an attempt off for which this host had no connection to spare: nothing was sent, so it says nothing of the
 * endpoint and goes on no record.
 */
const postpone = Effect.fnUntraced(function* (means: Means, due: Due, ended_at: number) {
  const { job, schedule_step } = due
  const payload = JobPayload.read(job, "deliver")
  const postponed = (payload.postponed ?? 0) + 1
  if (postponed > max_postponed) return yield* abandon(means, job, ended_at)
  const until = ended_at + putOff_ms(postponed)
  const delivery = yield* loadDelivery(means.storage, job.workspace_id, payload.subscription_id, payload.event_id)
  const isDue =
    delivery !== null &&
    (schedule_step === null || (Delivery.isOpen(delivery) && delivery.schedule_step === schedule_step))
  yield* means.storage.commit(
    Change.make(job.workspace_id, {
      writes: isDue && schedule_step !== null ? [Delivery.toStored(Delivery.postponed(delivery, until), ended_at)] : [],
      jobs: isDue ? [laterJob(job, { ...payload, postponed }, until)] : [],
      finishes: [job]
    })
  )
})

/** Ends an attempt that has died too often: its delivery has failed, and can be replayed. */
export const abandon = Effect.fnUntraced(function* ({ storage }: Pick<Means, "storage">, job: ClaimedJob, at: number) {
  const { subscription_id, event_id, schedule_step } = JobPayload.read(job, "deliver")
  const delivery = yield* loadDelivery(storage, job.workspace_id, subscription_id, event_id)
  const isNext = delivery !== null && Delivery.isOpen(delivery) && delivery.schedule_step === schedule_step
  const writes = isNext ? [Delivery.toStored(Delivery.gaveUp(delivery), at)] : []
  yield* storage.commit(Change.make(job.workspace_id, { writes, finishes: [job] }))
})
