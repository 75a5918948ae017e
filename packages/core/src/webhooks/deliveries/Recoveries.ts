import { Clock, Context, Effect, Layer, Option } from "effect"
import { expectationsOf, Workspaces } from "../../access/Workspaces.ts"
import type { JobHandler, JobHandlers } from "../../runner/JobHandler.ts"
import * as JobPayload from "../../runner/JobPayload.ts"
import * as Change from "../../storage/Change.ts"
import type { ClaimedJob } from "../../storage/Job.ts"
import type { RecordPage, RecordQuery } from "../../storage/Page.ts"
import { commit, retryOnConflict, Storage, type StorageUnavailable } from "../../storage/Storage.ts"
import * as ApiError from "../../wire/ApiError.ts"
import { Ids, type WorkspaceId } from "../../wire/Ids.ts"
import * as Delivery from "../records/Delivery.ts"
import * as StoredSubscription from "../records/StoredSubscription.ts"
import { findSubscription } from "../records/SubscriptionStore.ts"
import * as Recovery from "./Recovery.ts"

/** Which deliveries a recovery resends, and how fast. */
export interface RecoveryRequest {
  readonly subscription_id: string
  readonly filter: Recovery.RecoveryFilter
  readonly per_minute: number
}

/** A preview of what a recovery would do. */
export interface RecoveryPreview {
  /** How many deliveries match. At most 10,000 are checked. */
  readonly matched: number
  /** Whether all deliveries in the period were checked. */
  readonly is_complete: boolean
}

/** Identifies a recovery by its ID and subscription. */
export interface RecoveryName {
  readonly id: string
  readonly subscription_id: string
}

type NotFound = ApiError.ApiError<"not_found">
type RecoveryRefusal = NotFound | ApiError.ApiError<"conflict"> | StorageUnavailable

/** Resends many of an endpoint's deliveries, one after another in the order of their events, at a limited rate. */
export class Recoveries extends Context.Service<
  Recoveries,
  {
    /** Counts the deliveries that a recovery would resend. */
    readonly preview: (
      workspace_id: WorkspaceId,
      request: RecoveryRequest
    ) => Effect.Effect<RecoveryPreview, NotFound | StorageUnavailable>
    /**
     * Starts a recovery. Fails with `conflict` if the subscription's delivery is off, or if it already has a recovery
     * in progress.
     */
    readonly start: (
      workspace_id: WorkspaceId,
      request: RecoveryRequest
    ) => Effect.Effect<Recovery.Recovery, RecoveryRefusal>
    /** Lists a subscription's recoveries, newest first; at most a hundred. */
    readonly list: (
      workspace_id: WorkspaceId,
      subscription_id: string
    ) => Effect.Effect<ReadonlyArray<Recovery.Recovery>, NotFound | StorageUnavailable>
    /** Pauses, resumes or stops a subscription's recovery. Fails with `conflict` if the recovery has already ended. */
    readonly change: (
      workspace_id: WorkspaceId,
      named: RecoveryName,
      action: Recovery.RecoveryAction
    ) => Effect.Effect<Recovery.Recovery, RecoveryRefusal>
    readonly jobs: JobHandlers<"recover_deliveries">
  }
>()("@quotewire/core/Recoveries") {
  static readonly layer: Layer.Layer<Recoveries, never, Storage | Workspaces | Ids> = Layer.effect(
    Recoveries,
    Effect.gen(function* () {
      const owned = yield* makeOwned
      const recover_deliveries = yield* makeStep
      return Recoveries.of({ ...owned, jobs: { recover_deliveries } })
    })
  )
}

const pageSize = 100
/** The maximum number of deliveries that a preview checks. */
const maxPreviewed = 10_000

/** The query for a recovery's deliveries, in the order of their events. */
const queryOf = (
  workspace_id: WorkspaceId,
  { filter, subscription_id }: Pick<RecoveryRequest, "filter" | "subscription_id">
): Omit<RecordQuery, "after"> => ({
  workspace_id,
  kind: Delivery.kind.name,
  parent: subscription_id,
  status: "closed",
  order: "oldest",
  limit: pageSize,
  created_after: filter.created_after,
  created_before: filter.created_before
})

/** Makes the methods that read recoveries. Operators and owners share these methods. */
const makeReads = Effect.gen(function* () {
  const storage = yield* Storage

  const count = Effect.fnUntraced(function* (workspace_id: WorkspaceId, request: RecoveryRequest) {
    let after: string | null = null
    let looked = 0
    let matched = 0
    do {
      const page: RecordPage = yield* storage.page({ ...queryOf(workspace_id, request), after })
      looked += page.records.length
      matched += page.records.filter((record) => Recovery.matches(request.filter, Delivery.kind.value(record))).length
      after = page.next
    } while (after !== null && looked < maxPreviewed)
    return { matched, is_complete: after === null } satisfies RecoveryPreview
  })

  const list = Effect.fn("Recoveries.list")(function* (workspace_id: WorkspaceId, parent: string) {
    yield* findSubscription(storage, workspace_id, parent)
    const query = { workspace_id, kind: Recovery.kind.name, parent, order: "newest", after: null } as const
    const { records } = yield* storage.page({ ...query, limit: pageSize })
    return records.map(Recovery.kind.value)
  })

  const preview = Effect.fn("Recoveries.preview")(function* (workspace_id: WorkspaceId, request: RecoveryRequest) {
    yield* findSubscription(storage, workspace_id, request.subscription_id)
    return yield* count(workspace_id, request)
  })

  return { count, list, preview }
})

/** Makes the methods that read and change recoveries. Operators and owners share these methods. */
const makeOwned = Effect.gen(function* () {
  const storage = yield* Storage
  const workspaces = yield* Workspaces
  const ids = yield* Ids
  const { count, list, preview } = yield* makeReads

  const start = Effect.fn("Recoveries.start")(function* (workspace_id: WorkspaceId, request: RecoveryRequest) {
    const subscription = yield* findSubscription(storage, workspace_id, request.subscription_id)
    if (!StoredSubscription.receives(subscription))
      return yield* conflict("The subscription is disabled, or its delivery is turned off.")
    if ((yield* list(workspace_id, subscription.id)).some(Recovery.isOpen)) {
      return yield* conflict("A recovery of this subscription is still in progress: stop it first.")
    }
    const { matched } = yield* count(workspace_id, request)
    const moment = yield* workspaces.moment(workspace_id)
    const recovery: Recovery.Recovery = {
      ...request,
      subscription_id: subscription.id,
      id: ids.recovery(),
      state: "running",
      reason: null,
      matched,
      resent: 0,
      skipped: 0,
      position: null,
      turn: 1,
      created_at: moment.now,
      updated_at: moment.now
    }
    // Writes a new version of the subscription, so that one of two concurrent starts conflicts.
    const next = StoredSubscription.toStored({ ...subscription, version: subscription.version + 1 })
    const writes = [Recovery.toStored(recovery, 1), next]
    const jobs = [Recovery.nextJob(recovery, moment.now)]
    yield* commit(storage, Change.make(workspace_id, { writes, jobs, expects: expectationsOf(moment) }))
    return recovery
  })

  const change = Effect.fn("Recoveries.change")(function* (
    workspace_id: WorkspaceId,
    { id, subscription_id }: RecoveryName,
    action: Recovery.RecoveryAction
  ) {
    const stored = Option.getOrNull(yield* storage.get({ workspace_id, kind: Recovery.kind.name, id }))
    if (stored === null || stored.parent !== subscription_id) return yield* ApiError.make("not_found")
    const moment = yield* workspaces.moment(workspace_id)
    const recovery = Recovery.kind.value(stored)
    const changedRecovery = Recovery.changed(recovery, action, moment.now)
    if (changedRecovery === null) return yield* conflict(`The recovery has ended; its state is ${recovery.state}.`)
    if (changedRecovery === recovery) return recovery
    const jobs = changedRecovery.state === "running" ? [Recovery.nextJob(changedRecovery, moment.now)] : []
    yield* commit(
      storage,
      Change.make(workspace_id, { writes: [Recovery.toStored(changedRecovery, stored.version + 1)], jobs })
    )
    return changedRecovery
  })

  return {
    preview,
    list,
    start: (workspace_id: WorkspaceId, request: RecoveryRequest) => retryOnConflict(start(workspace_id, request)),
    change: (workspace_id: WorkspaceId, recoveryName: RecoveryName, action: Recovery.RecoveryAction) =>
      retryOnConflict(change(workspace_id, recoveryName, action))
  }
})

const conflict = (message: string) => Effect.fail(ApiError.make("conflict", { message, retry_action: "none" }))

/**
 * Makes the handler of a recovery's job. The handler queues the next delivery, and then a job for the delivery after
 * that.
 */
const makeStep = Effect.gen(function* () {
  const storage = yield* Storage

  const finish = (job: ClaimedJob, parts: Partial<Change.Change> = {}) =>
    storage.commit({ ...Change.make(job.workspace_id, {}), ...parts, finishes: [job] })

  const step: JobHandler = Effect.fnUntraced(function* (job, now) {
    const { recovery_id: id, turn } = JobPayload.read(job, "recover_deliveries")
    const { workspace_id } = job
    const stored = Option.getOrNull(yield* storage.get({ workspace_id, kind: Recovery.kind.name, id }))
    const recovery = stored === null ? null : Recovery.kind.value(stored)
    if (stored === null || recovery === null || recovery.state !== "running" || recovery.turn !== turn) {
      return yield* finish(job)
    }
    const write = (changes: Partial<Recovery.Recovery>) =>
      Recovery.toStored({ ...recovery, ...changes, updated_at: now }, stored.version + 1)
    const subscription = yield* Effect.catchTag(
      findSubscription(storage, workspace_id, recovery.subscription_id),
      "not_found",
      () => Effect.succeed(null)
    )
    if (subscription === null || !StoredSubscription.receives(subscription)) {
      return yield* finish(job, { writes: [write({ state: "paused", reason: "subscription_off" })] })
    }
    const page = yield* storage.page({ ...queryOf(workspace_id, recovery), after: recovery.position })
    const nextRecord = page.records.find((record) => Recovery.matches(recovery.filter, Delivery.kind.value(record)))
    if (nextRecord === undefined) {
      return yield* page.next === null
        ? finish(job, { writes: [write({ state: "done" })] })
        : finish(job, { writes: [write({ position: page.next })], jobs: [Recovery.nextJob(recovery, now)] })
    }
    const realNow = yield* Clock.currentTimeMillis
    const delivery = Delivery.kind.value(nextRecord)
    if (Delivery.recentReplays(delivery, realNow).length >= Delivery.maxReplays) {
      const writes = [write({ position: nextRecord.id, skipped: recovery.skipped + 1 })]
      return yield* finish(job, { writes, jobs: [Recovery.nextJob(recovery, now)] })
    }
    const again = Delivery.replayed(delivery, now, realNow)
    yield* finish(job, {
      writes: [Delivery.toStored(again, now), write({ position: nextRecord.id, resent: recovery.resent + 1 })],
      jobs: [
        Delivery.replayJob(again, again.schedule_step, now),
        Recovery.nextJob(recovery, now + Recovery.stepMs(recovery))
      ]
    })
  })

  return step
})
