import { Cause, Clock, Effect, Exit, Fiber, Metric, Option, type Scope } from "effect"
import { Mac } from "effect/crypto"
import { Seal } from "../../access/sealing/Seal.ts"
import { BoundedMap } from "../../concurrency/BoundedMap.ts"
import { JobSlot } from "../../concurrency/JobSlot.ts"
import { ConcurrentClaim } from "../../runner/ConcurrentClaim.ts"
import * as JobPayload from "../../runner/JobPayload.ts"
import * as Batcher from "../../storage/Batcher.ts"
import * as Change from "../../storage/Change.ts"
import type { ClaimedJob } from "../../storage/Job.ts"
import {
  type LeaseLost,
  readOne,
  retryOnConflict,
  Storage,
  StorageUnavailable,
  type VersionConflict
} from "../../storage/Storage.ts"
import type { SubscriptionId, WorkspaceId } from "../../wire/Ids.ts"
import { minuteMs, secondMs } from "../../wire/Timestamp.ts"
import * as Delivery from "../records/Delivery.ts"
import * as EndpointHealth from "../records/EndpointHealth.ts"
import * as StoredSubscription from "../records/StoredSubscription.ts"
import * as WebhookEndpoint from "../records/WebhookEndpoint.ts"
import * as Signature from "../Signature.ts"
import { WebhookHeaderPrefix } from "../WebhookHeaders.ts"
import { inTime, isConfirmed, type SendOutcome, WebhookSender } from "../WebhookSender.ts"

/* Makes attempts at deliveries. The result of an attempt is committed in the change that finishes its job. */

const attempts = Metric.counter("quotewire_webhook_attempts_total", {
  description: "Attempts to deliver an event, by outcome.",
  incremental: true
})
const confirmedAttempts = Metric.withAttributes(attempts, { outcome: "succeeded" })
const failedAttempts = Metric.withAttributes(attempts, { outcome: "failed" })

/**
 * Makes the handler of attempts. The handler loads the delivery, signs and sends it, and commits the result in the
 * change that finishes the job.
 */
export const make = Effect.gen(function* () {
  const storage = yield* Storage
  const load = makeLoad(storage)
  const send = yield* makeSend
  const write = yield* makeWriter(storage)
  const abandon = makeAbandon(storage)
  const postpone = makePostpone(storage, abandon)

  const attempt = Effect.fnUntraced(function* (job: ClaimedJob, now: number) {
    const { workspace_id } = job
    const due = yield* load(job)
    if (due === null) return yield* storage.commit(Change.make(workspace_id, { finishes: [job] }))
    const { delivery, schedule_step, subscription, trigger } = due
    // In a sandbox, an attempt happens at its due time, so that one long jump of the clock has the same effect as many
    // short jumps.
    const at = subscription.environment === "sandbox" ? job.due_at : now
    if (!StoredSubscription.receives(subscription)) {
      const writes = Delivery.isOpen(delivery) ? [Delivery.toStored(Delivery.cancelled(delivery), at)] : []
      return yield* storage.commit(Change.make(workspace_id, { writes, finishes: [job] }))
    }
    const moved = trigger === "scheduled" ? Delivery.movedJob(job, delivery, subscription, now) : null
    if (moved !== null) return yield* storage.commit(Change.make(workspace_id, { jobs: [moved], finishes: [job] }))
    const sendOutcome = yield* send(due, at)
    if (sendOutcome.failure === "busy") return yield* retryOnConflict(postpone(due, at + sendOutcome.duration_ms))
    yield* Metric.update(isConfirmed(sendOutcome) ? confirmedAttempts : failedAttempts, 1)
    const outcome = outcomeOf(sendOutcome, at, trigger)
    yield* write({ job, schedule_step, delivery, subscription_id: subscription.id, outcome, now })
  })

  return { attempt, abandon }
})

const outcomeOf = (outcome: SendOutcome, now: number, trigger: DueDelivery["trigger"]): Delivery.AttemptOutcome => ({
  attempted_at: now,
  ended_at: now + outcome.duration_ms,
  confirmed: isConfirmed(outcome),
  response_status_code: outcome.response_status_code,
  response_duration_ms: outcome.duration_ms,
  failure: outcome.failure,
  trigger
})

type StorageService = Storage["Service"]

/** An attempt that is due. */
interface DueDelivery {
  readonly job: ClaimedJob
  readonly trigger: "manual" | "scheduled"
  /** The step in the delivery's schedule; null for an attempt outside the schedule. */
  readonly schedule_step: number | null
  readonly delivery: Delivery.StoredDelivery
  readonly subscription: StoredSubscription.StoredSubscription
}

/**
 * Makes a function that loads the delivery for a job, and its subscription. The function returns null if a newer job, a
 * cancellation or an erasure has made the job obsolete.
 */
const makeLoad = (storage: StorageService) => {
  const readSubscription = makeReadSubscription(storage)

  return Effect.fnUntraced(function* (job: ClaimedJob) {
    const { subscription_id, event_id, schedule_step, trigger } = JobPayload.read(job, "deliver")
    // The subscription is read while the delivery is loaded.
    const reading = yield* readSubscription(job.workspace_id, subscription_id)
    const delivery = yield* loadDelivery(storage, job.workspace_id, subscription_id, event_id)
    const subscription = yield* Fiber.join(reading)
    if (delivery === null || subscription === null) return null
    if (schedule_step !== null && (delivery.schedule_step !== schedule_step || !Delivery.isOpen(delivery))) return null
    const due: DueDelivery = { job, trigger, schedule_step, delivery, subscription }
    return due
  })
}

/** Reads a delivery; null if it was erased. */
const loadDelivery = (
  storage: StorageService,
  workspace_id: WorkspaceId,
  subscriptionId: SubscriptionId,
  eventId: string
) => readOne(storage, Delivery.kind, workspace_id, Delivery.idOf(subscriptionId, eventId))

type SubscriptionRead = Fiber.Fiber<StoredSubscription.StoredSubscription | null, StorageUnavailable>

/** Makes a function that begins to read a subscription. Jobs from the same claim share the read. */
const makeReadSubscription = (storage: StorageService) => {
  // The jobs of a claim begin together, so only the latest claim's reads are kept.
  let newest: typeof ConcurrentClaim.Service = null
  let shared = new Map<SubscriptionId, SubscriptionRead>()

  const begin = (workspace_id: WorkspaceId, id: SubscriptionId): Effect.Effect<SubscriptionRead> =>
    Effect.forkDetach(readOne(storage, StoredSubscription.kind, workspace_id, id), { startImmediately: true })

  return (workspace_id: WorkspaceId, id: SubscriptionId): Effect.Effect<SubscriptionRead> =>
    ConcurrentClaim.use((claim) => {
      if (claim === null) return begin(workspace_id, id)
      if (claim !== newest) {
        newest = claim
        shared = new Map()
      }
      const sharedRead = shared.get(id)
      if (sharedRead !== undefined) return Effect.succeed(sharedRead)
      const reads = shared
      return Effect.map(begin(workspace_id, id), (reading) => {
        reads.set(id, reading)
        return reading
      })
    })
}

/** The maximum number of cached keys (docs/decisions/tuning.md). */
const maxOpened = 10_000

/** The key of an opened secret, and the subscription for which the secret was sealed. */
interface OpenedSecret {
  readonly workspace_id: WorkspaceId
  readonly subscription_id: SubscriptionId
  readonly key: Mac.Key
}

/**
 * Makes a function that returns the keys of the secrets that are valid at a given time, newest first. The function dies
 * if no secret can be opened, because nothing may then be sent.
 */
const makeOpenKeys = (seal: Seal["Service"]) => {
  const opened = new BoundedMap<string, OpenedSecret>(maxOpened)

  const open = Effect.fnUntraced(function* (
    workspace_id: WorkspaceId,
    subscription_id: SubscriptionId,
    secrets: ReadonlyArray<StoredSubscription.StoredSecret>
  ) {
    const purpose = StoredSubscription.purposeOfSecrets(workspace_id, subscription_id)
    const keys: Array<Mac.Key> = []
    for (const { sealed } of secrets) {
      const secret = yield* seal.open(purpose, sealed)
      if (secret === null) continue
      const key = yield* Signature.signingKey(secret)
      opened.set(sealed, { workspace_id, subscription_id, key })
      keys.push(key)
    }
    return keys.length === 0 ? yield* Effect.die(new Error("No signing secret can be opened")) : keys
  })

  return (workspace_id: WorkspaceId, subscription: StoredSubscription.StoredSubscription, now: number) => {
    const secrets = StoredSubscription.validSecrets(subscription, now)
    const openedKeys = secrets.flatMap(({ sealed }) => {
      const openedSecret = opened.get(sealed)
      // A secret is valid only for the subscription for which it was sealed.
      return openedSecret?.subscription_id === subscription.id && openedSecret.workspace_id === workspace_id
        ? [openedSecret.key]
        : []
    })
    const areKnown = openedKeys.length > 0 && openedKeys.length === secrets.length
    return areKnown ? Effect.succeed(openedKeys) : open(workspace_id, subscription.id, secrets)
  }
}

/** Makes a function that signs a delivery and sends it. */
const makeSend = Effect.gen(function* () {
  const openKeys = makeOpenKeys(yield* Seal)
  const sign = Signature.keySigner(yield* Mac.Mac)
  const sender = yield* WebhookSender.loggable
  const prefix = yield* WebhookHeaderPrefix

  return Effect.fnUntraced(function* ({ delivery, job, subscription }: DueDelivery, now: number) {
    const keys = yield* openKeys(job.workspace_id, subscription, now)
    // Receivers compare the timestamp with their own clock, so it is real time, not workspace time.
    const timestamp = Math.floor((yield* Clock.currentTimeMillis) / secondMs)
    const { event_id: id, payload } = delivery
    const signature = yield* sign(keys, { id, timestamp, body: payload })
    const headers = {
      "content-type": "application/json",
      ...Signature.headersOf({ id, timestamp, signature, prefix })
    }
    const slot = yield* JobSlot
    const sending = sender.send({ url: subscription.url, headers, body: payload })
    return yield* slot.yieldDuring(sender.keeps_deadlines === true ? sending : inTime(sending))
  })
})

/**
 * The maximum number of times that an attempt is postponed. Each pause is 5 seconds longer than the previous one, up to
 * 5 minutes; together they last about six hours.
 */
const maxPostponed = 100
const postponedMs = (times: number): number => Math.min(5 * secondMs * times, 5 * minuteMs)

/**
 * Makes a function that postpones an attempt for which this host had no free connection. Nothing was sent, so the
 * attempt says nothing about the endpoint and is not recorded.
 */
const makePostpone = (storage: Storage["Service"], abandon: ReturnType<typeof makeAbandon>) =>
  Effect.fnUntraced(function* ({ job, schedule_step }: DueDelivery, endedAt: number) {
    const payload = JobPayload.read(job, "deliver")
    const postponed = (payload.postponed ?? 0) + 1
    if (postponed > maxPostponed) return yield* abandon(job, endedAt)
    const until = endedAt + postponedMs(postponed)
    const delivery = yield* loadDelivery(storage, job.workspace_id, payload.subscription_id, payload.event_id)
    const isDue =
      delivery !== null &&
      (schedule_step === null || (Delivery.isOpen(delivery) && delivery.schedule_step === schedule_step))
    yield* storage.commit(
      Change.make(job.workspace_id, {
        writes:
          isDue && schedule_step !== null ? [Delivery.toStored(Delivery.postponed(delivery, until), endedAt)] : [],
        jobs: isDue ? [Delivery.laterJob(job, { ...payload, postponed }, until)] : [],
        finishes: [job]
      })
    )
  })

/** Makes a function that abandons an attempt whose job failed too often. The delivery fails, and can be replayed. */
const makeAbandon = (storage: Storage["Service"]) =>
  Effect.fnUntraced(function* (job: ClaimedJob, now: number) {
    const { subscription_id, event_id, schedule_step } = JobPayload.read(job, "deliver")
    const delivery = yield* loadDelivery(storage, job.workspace_id, subscription_id, event_id)
    const isNext = delivery !== null && Delivery.isOpen(delivery) && delivery.schedule_step === schedule_step
    const writes = isNext ? [Delivery.toStored(Delivery.abandoned(delivery), now)] : []
    yield* storage.commit(Change.make(job.workspace_id, { writes, finishes: [job] }))
  })

/** The result of an attempt. It is committed in the change that finishes the attempt's job. */
export interface AttemptResult extends WebhookEndpoint.EndedAttempt {
  readonly job: ClaimedJob
  readonly subscription_id: SubscriptionId
}

/** Commits an attempt's result, and returns once it is stored. */
export type Write = (result: AttemptResult) => Effect.Effect<void, CommitRefusal>

type CommitRefusal = VersionConflict | LeaseLost | StorageUnavailable

/** The maximum number of results in one change. */
const maxBatch = 32
/**
 * The maximum number of waiting results. It is never reached, because an endpoint's lanes together run fewer attempts.
 */
const maxWaiting = 1_000
/** The longest that a result waits: a job's lease. After that, the job comes due again. */
const maxWaitMs = 30_000
/** After this many conflicts with other processes, the results of a batch are committed one at a time. */
const maxRaces = 20

/**
 * Makes a writer that commits attempts' results. While a commit for an endpoint is running, later results for that
 * endpoint wait and then share one change.
 *
 * Each result updates the endpoint's health, which is one record, so parallel commits would conflict. If a caller is
 * interrupted before its result is sent, the result is dropped and the job comes due again.
 */
export const makeWriter = Effect.fnUntraced(function* (
  storage: StorageService
): Effect.fn.Return<Write, never, Scope.Scope> {
  const commit = makeCommit(storage)

  /** Reads the delivery again, and applies the result to it. */
  const reloadAndCommit = Effect.fnUntraced(function* (result: AttemptResult) {
    const { job, subscription_id, delivery } = result
    const storedDelivery = yield* loadDelivery(storage, job.workspace_id, subscription_id, delivery.event_id)
    if (storedDelivery !== null) return yield* commit([{ ...result, delivery: storedDelivery }])
    // A reset has erased the delivery, so there is nothing to record the result in.
    yield* storage.commit(Change.make(job.workspace_id, { finishes: [job] }))
  })

  /** Commits one result. After a conflict, only the commit is repeated; the webhook is not sent again. */
  const writeOne = (result: AttemptResult): Effect.Effect<void, CommitRefusal> =>
    Effect.catchTag(commit([result]), "VersionConflict", () => retryOnConflict(reloadAndCommit(result)))

  /**
   * Commits a batch as one change. If storage rejects the change, commits each result separately, so that one result
   * cannot make other results fail.
   */
  const send = Effect.fnUntraced(function* (results: ReadonlyArray<AttemptResult>) {
    if (results.length > 1) {
      const written = yield* Effect.exit(Effect.retry(commit(results), { times: maxRaces, while: isRace }))
      if (!isRefused(written)) return results.map(() => written)
    }
    return yield* Effect.forEach(results, (result) => Effect.exit(writeOne(result)))
  })

  const unavailable = new StorageUnavailable({ retry_after_seconds: 1 })
  return yield* Batcher.make<AttemptResult, void, CommitRefusal>({
    send,
    unavailable,
    max_batch: maxBatch,
    max_waiting: maxWaiting,
    max_wait_ms: maxWaitMs,
    queueOf: endpointKeyOf
  })
})

/** The name of the queue for an endpoint. */
const endpointKeyOf = ({ job, subscription_id }: AttemptResult): string => `${job.workspace_id} ${subscription_id}`

/**
 * Whether a commit failed because another process has just written to the same endpoint. The results themselves may be
 * valid.
 */
const isRace = (error: CommitRefusal): boolean => error._tag === "VersionConflict" && error.kind !== "delivery"

/** Whether a single result may be the cause of the rejection. False if storage is unavailable. */
const isRefused = (exit: Exit.Exit<void, CommitRefusal>): boolean =>
  Exit.isFailure(exit) && Option.getOrNull(Cause.findErrorOption(exit.cause))?._tag !== "StorageUnavailable"

/** An endpoint in the version that this process last wrote. */
interface LastWritten {
  readonly endpoint: WebhookEndpoint.WebhookEndpoint
  /**
   * Whether no other process wrote between the last two commits. If another process also writes, this version may be
   * outdated.
   */
  readonly isAlone: boolean
}

const maxCached = 10_000

/**
 * Makes a function that commits the results for one endpoint as one change.
 *
 * The function is optimistic: it uses deliveries as the attempts read them, and a cached endpoint as long as no other
 * process writes to that endpoint. This saves a read before each change, and the version rule rejects outdated data. In
 * a sandbox, the endpoint is read each time, because a reset restarts the version numbers of its health.
 */
const makeCommit = (storage: StorageService) => {
  const cache = new BoundedMap<string, LastWritten>(maxCached)

  const loadEndpoint = Effect.fnUntraced(function* ({ job: { workspace_id }, subscription_id: id }: AttemptResult) {
    const [subscription, health] = yield* Effect.all(
      [
        readOne(storage, StoredSubscription.kind, workspace_id, id),
        readOne(storage, EndpointHealth.kind, workspace_id, id)
      ],
      { concurrency: 2 }
    )
    const endpoint: WebhookEndpoint.WebhookEndpoint | null =
      subscription === null ? null : { subscription, health: health ?? EndpointHealth.unknown(id) }
    return endpoint
  })

  return Effect.fnUntraced(function* (results: ReadonlyArray<AttemptResult>) {
    const [first] = results
    if (first === undefined) return
    const name = endpointKeyOf(first)
    const last = cache.get(name)
    const storedEndpoint = last?.isAlone === true ? last.endpoint : yield* loadEndpoint(first)
    const { workspace_id } = first.job
    const finishes = results.map(({ job }) => job)
    if (storedEndpoint === null) return yield* storage.commit(Change.make(workspace_id, { finishes }))
    const { endpoint, writes, jobs } = WebhookEndpoint.applyAttempts(storedEndpoint, results)
    const { id, version } = storedEndpoint.subscription
    const expects = [{ kind: StoredSubscription.kind.name, id, version }]
    const change = Change.make(workspace_id, { writes, expects, jobs, finishes })
    yield* Effect.onError(storage.commit(change), () => Effect.sync(() => cache.delete(name)))
    if (endpoint.subscription.environment === "sandbox") return
    cache.set(name, { endpoint, isAlone: storedEndpoint.health.version === last?.endpoint.health.version })
  })
}
