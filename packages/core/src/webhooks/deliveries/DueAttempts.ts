import { Effect, Fiber } from "effect"
import { Claim } from "../../runner/Claim.ts"
import * as JobPayload from "../../runner/JobPayload.ts"
import type { ClaimedJob } from "../../storage/Job.ts"
import { readOne, type Storage, type StorageUnavailable } from "../../storage/Storage.ts"
import type { SubscriptionId, WorkspaceId } from "../../wire/Ids.ts"
import * as Delivery from "../records/Delivery.ts"
import * as Endpoint from "../records/Endpoint.ts"

/*
 * What the jobs of attempts are about: loads a delivery and its subscription.
 */

type StorageService = Storage["Service"]

/** An attempt that is due. */
export interface Due {
  readonly job: ClaimedJob
  readonly trigger: "manual" | "scheduled"
  /** The step of the delivery's schedule; null for an attempt outside the schedule. */
  readonly schedule_step: number | null
  readonly delivery: Delivery.KeptDelivery
  readonly subscription: Endpoint.KeptSubscription
}

/**
 * Makes a function that loads the delivery that a job must attempt, with its subscription; null if a newer job, a
 * cancellation or an erasure has made the job obsolete.
 */
export const makeLoad = (storage: StorageService) => {
  const readSubscription = readingSubscriptions(storage)

  return Effect.fnUntraced(function* (job: ClaimedJob) {
    const { subscription_id, event_id, schedule_step, trigger } = JobPayload.read(job, "deliver")
    // Both are read at the same time.
    const reading = yield* readSubscription(job.workspace_id, subscription_id)
    const delivery = yield* loadDelivery(storage, job.workspace_id, subscription_id, event_id)
    const subscription = yield* Fiber.join(reading)
    if (delivery === null || subscription === null) return null
    if (schedule_step !== null && (delivery.schedule_step !== schedule_step || !Delivery.isOpen(delivery))) return null
    const due: Due = { job, trigger, schedule_step, delivery, subscription }
    return due
  })
}

/** Reads a delivery; null if it has been erased. */
export const loadDelivery = (
  storage: StorageService,
  workspaceId: WorkspaceId,
  subscriptionId: SubscriptionId,
  eventId: string
) => readOne(storage, Delivery.kind, workspaceId, Delivery.idOf(subscriptionId, eventId))

type Reading = Fiber.Fiber<Endpoint.KeptSubscription | null, StorageUnavailable>

/** Begins to read subscriptions. The jobs of one claim share the read of a subscription. */
const readingSubscriptions = (storage: StorageService) => {
  // Jobs of a claim begin together, so those of the newest claim are enough.
  let newest: typeof Claim.Service = null
  let shared = new Map<SubscriptionId, Reading>()

  const begin = (workspaceId: WorkspaceId, id: SubscriptionId): Effect.Effect<Reading> =>
    Effect.forkDetach(readOne(storage, Endpoint.subscriptionKind, workspaceId, id), { startImmediately: true })

  return (workspaceId: WorkspaceId, id: SubscriptionId): Effect.Effect<Reading> =>
    Effect.flatMap(Claim, (claim) => {
      if (claim === null) return begin(workspaceId, id)
      if (claim !== newest) {
        newest = claim
        shared = new Map()
      }
      const known = shared.get(id)
      if (known !== undefined) return Effect.succeed(known)
      const reads = shared
      return Effect.map(begin(workspaceId, id), (reading) => {
        reads.set(id, reading)
        return reading
      })
    })
}
