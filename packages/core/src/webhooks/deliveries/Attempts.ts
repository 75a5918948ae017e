import { Clock, Effect, Metric } from "effect"
import { Mac } from "effect/crypto"
import { Seal } from "../../access/Seal.ts"
import { Slot } from "../../concurrency/Slot.ts"
import * as JobPayload from "../../runner/JobPayload.ts"
import * as Change from "../../storage/Change.ts"
import type { ClaimedJob } from "../../storage/Job.ts"
import { retryOnConflict, Storage } from "../../storage/Storage.ts"
import { minute_ms, second_ms } from "../../wire/Timestamp.ts"
import * as Signature from "../Signature.ts"
import * as Subscription from "../subscriptions/EventSubscription.ts"
import * as SigningSecrets from "../subscriptions/SigningSecrets.ts"
import { loadDelivery, loadSubscription } from "../subscriptions/SubscriptionStore.ts"
import { WebhookHeaderPrefix } from "../WebhookHeaders.ts"
import { isConfirmed, type SendOutcome, WebhookSender } from "../WebhookSender.ts"
import * as AttemptWriter from "./AttemptWriter.ts"
import * as Delivery from "./Delivery.ts"
import { laterJob, movedJob } from "./DeliveryJob.ts"

/** An attempt that is due. */
interface Due {
  readonly job: ClaimedJob
  readonly trigger: "manual" | "scheduled"
  /** The step of the delivery's schedule; null for an attempt outside the schedule. */
  readonly schedule_step: number | null
  readonly delivery: Delivery.KeptDelivery
  readonly subscription: Subscription.KeptSubscription
}

const attempts = Metric.counter("quotewire_webhook_attempts_total", {
  description: "Attempts to deliver an event, by outcome.",
  incremental: true
})
const confirmedAttempts = Metric.withAttributes(attempts, { outcome: "succeeded" })
const failedAttempts = Metric.withAttributes(attempts, { outcome: "failed" })

/** Makes attempts: loads, signs, sends, and commits the result together with the end of the job. */
export const make = Effect.gen(function* () {
  const storage = yield* Storage
  const send = yield* makeSend
  const write = yield* AttemptWriter.make(storage)
  const abandon = abandoning(storage)
  const postpone = postponing(storage, abandon)

  const attempt = Effect.fnUntraced(function* (job: ClaimedJob, now: number) {
    const { workspace_id } = job
    const due = yield* load(storage, job)
    if (due === null) return yield* storage.commit(Change.make(workspace_id, { finishes: [job] }))
    const { delivery, schedule_step, subscription, trigger } = due
    // In a sandbox an attempt happens at its due time, so that one jump of the clock looks like many small steps.
    const at = subscription.environment === "sandbox" ? job.due_at : now
    if (!Subscription.receives(subscription)) {
      const writes = Delivery.isOpen(delivery) ? [Delivery.toStored(Delivery.cancelled(delivery), at)] : []
      return yield* storage.commit(Change.make(workspace_id, { writes, finishes: [job] }))
    }
    const moved = trigger === "scheduled" ? movedJob(job, delivery, subscription, now) : null
    if (moved !== null) return yield* storage.commit(Change.make(workspace_id, { jobs: [moved], finishes: [job] }))
    const sent = yield* send(due, at)
    if (sent.failure === "busy") return yield* retryOnConflict(postpone(due, at + sent.duration_ms))
    yield* Metric.update(isConfirmed(sent) ? confirmedAttempts : failedAttempts, 1)
    const outcome = outcomeOf(sent, at, trigger)
    yield* write({ job, schedule_step, delivery, subscription_id: subscription.id, outcome, now })
  })

  return { attempt, abandon }
})

const outcomeOf = (sent: SendOutcome, at: number, trigger: Due["trigger"]): Delivery.AttemptOutcome => ({
  attempted_at: at,
  ended_at: at + sent.duration_ms,
  confirmed: isConfirmed(sent),
  response_status_code: sent.response_status_code,
  response_duration_ms: sent.duration_ms,
  hung: sent.failure === "timeout",
  trigger
})

/** Loads what a job must attempt; null if a newer job, a cancellation or an erasure has made it obsolete. */
const load = Effect.fnUntraced(function* (storage: Storage["Service"], job: ClaimedJob) {
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

/** Signs and sends. */
const makeSend = Effect.gen(function* () {
  const seal = yield* Seal
  const mac = yield* Mac.Mac
  const sender = yield* WebhookSender.loggable
  const prefix = yield* WebhookHeaderPrefix
  const keys = Signature.noKeys()
  const opened = SigningSecrets.noneOpened()

  return Effect.fnUntraced(function* ({ delivery, subscription }: Due, at: number) {
    const secrets = yield* SigningSecrets.open(seal, subscription, at, opened)
    // Receivers compare the timestamp with their own clocks, so it is real time, not workspace time.
    const timestamp = Math.floor((yield* Clock.currentTimeMillis) / second_ms)
    const { event_id: id, payload } = delivery
    const signature = yield* Signature.sign(mac, secrets, id, timestamp, payload, keys)
    const headers = {
      "content-type": "application/json",
      ...Signature.headersOf({ id, timestamp, signature, prefix })
    }
    const slot = yield* Slot
    return yield* slot.yieldDuring(sender.send({ url: subscription.url, headers, body: payload }))
  })
})

/** An attempt is postponed at most this often: by 5 seconds more each time, up to 5 minutes; about six hours in all. */
const max_postponed = 100
const postponedMs = (times: number): number => Math.min(5 * second_ms * times, 5 * minute_ms)

/**
 * Postpones an attempt for which this host had no free connection. Nothing was sent, so nothing is recorded: it says
 * nothing about the endpoint.
 */
const postponing = (storage: Storage["Service"], abandon: ReturnType<typeof abandoning>) =>
  Effect.fnUntraced(function* ({ job, schedule_step }: Due, ended_at: number) {
    const payload = JobPayload.read(job, "deliver")
    const postponed = (payload.postponed ?? 0) + 1
    if (postponed > max_postponed) return yield* abandon(job, ended_at)
    const until = ended_at + postponedMs(postponed)
    const delivery = yield* loadDelivery(storage, job.workspace_id, payload.subscription_id, payload.event_id)
    const isDue =
      delivery !== null &&
      (schedule_step === null || (Delivery.isOpen(delivery) && delivery.schedule_step === schedule_step))
    yield* storage.commit(
      Change.make(job.workspace_id, {
        writes:
          isDue && schedule_step !== null ? [Delivery.toStored(Delivery.postponed(delivery, until), ended_at)] : [],
        jobs: isDue ? [laterJob(job, { ...payload, postponed }, until)] : [],
        finishes: [job]
      })
    )
  })

/** Gives up an attempt whose job has failed too often. The delivery is failed, and can be replayed. */
const abandoning = (storage: Storage["Service"]) =>
  Effect.fnUntraced(function* (job: ClaimedJob, at: number) {
    const { subscription_id, event_id, schedule_step } = JobPayload.read(job, "deliver")
    const delivery = yield* loadDelivery(storage, job.workspace_id, subscription_id, event_id)
    const isNext = delivery !== null && Delivery.isOpen(delivery) && delivery.schedule_step === schedule_step
    const writes = isNext ? [Delivery.toStored(Delivery.abandoned(delivery), at)] : []
    yield* storage.commit(Change.make(job.workspace_id, { writes, finishes: [job] }))
  })
