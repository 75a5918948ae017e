import { Context, Effect, Layer } from "effect"
import type { SecureRandom } from "effect/crypto"
import * as Cursor from "../../access/Cursor.ts"
import { Seal } from "../../access/sealing/Seal.ts"
import { commitAt, Workspaces } from "../../access/Workspaces.ts"
import type { Call } from "../../calls/Call.ts"
import { decideAtMoment } from "../../calls/decideAtMoment.ts"
import type { JobHandlers } from "../../runner/JobHandler.ts"
import * as JobPayload from "../../runner/JobPayload.ts"
import * as Change from "../../storage/Change.ts"
import type { ClaimedJob } from "../../storage/Job.ts"
import { readOne, Storage, type StorageUnavailable } from "../../storage/Storage.ts"
import * as ApiError from "../../wire/ApiError.ts"
import type { Ids, WorkspaceId } from "../../wire/Ids.ts"
import * as Json from "../../wire/Json.ts"
import { defaultLimit } from "../../wire/Pagination.ts"
import { cancelJob } from "../records/Delivery.ts"
import * as EndpointHealth from "../records/EndpointHealth.ts"
import * as Subscription from "../records/EventSubscription.ts"
import * as StoredSubscription from "../records/StoredSubscription.ts"
import { findSubscription } from "../records/SubscriptionStore.ts"
import * as WebhookAddress from "../WebhookAddress.ts"
import { WebhookSender } from "../WebhookSender.ts"
import { cancelOpenDeliveries } from "./cancelDeliveries.ts"
import * as SecretRotation from "./SecretRotation.ts"
import { check, validateRest } from "./SubscriptionChecks.ts"
import * as SubscriptionCreation from "./SubscriptionCreation.ts"
import * as Refusals from "./SubscriptionRefusals.ts"
import type { CreateInput, ListInput, SubscriptionPage, UpdateInput } from "./SubscriptionViews.ts"

type View = Json.Json<Subscription.EventSubscription>
type SubscriptionRefusal<Code extends ApiError.ErrorCode> = ApiError.ApiError<Code> | StorageUnavailable

/** Creates, changes and disables subscriptions (api.md, Event subscriptions). */
export class EventSubscriptions extends Context.Service<
  EventSubscriptions,
  {
    /**
     * Creates a subscription in two steps. The first step stores it as unfinished, with its secret; the second looks up
     * its host.
     *
     * Fails with `service_unavailable` if the lookup fails temporarily. A retry with the same key within ten minutes
     * finishes the creation with the same secret; a later retry fails with `conflict` (`use_new_request_key`). Also
     * fails with `conflict` if the workspace already has ten active subscriptions.
     */
    readonly create: (
      call: Call,
      input: CreateInput
    ) => Effect.Effect<View, SubscriptionRefusal<"invalid_input" | "conflict" | "service_unavailable">>
    readonly list: (
      call: Call,
      input: ListInput
    ) => Effect.Effect<Json.Json<SubscriptionPage>, SubscriptionRefusal<"invalid_cursor">>
    /** Checks the URL and the event types of an input in which other fields are malformed. */
    readonly validateRest: (
      input: unknown,
      refused: ReadonlyArray<ApiError.FieldError>
    ) => Effect.Effect<ApiError.WrongFields>
    /** Changes the URL or the event types. Setting a URL turns delivery back on if it was turned off. */
    readonly update: (
      call: Call,
      input: UpdateInput
    ) => Effect.Effect<View, SubscriptionRefusal<"invalid_input" | "not_found" | "conflict" | "service_unavailable">>
    /** Disables a subscription and cancels its open deliveries. Disabling it again changes nothing. */
    readonly disable: (call: Call, id: string) => Effect.Effect<View, SubscriptionRefusal<"not_found">>
    /**
     * Creates a new secret in two steps, as `create` does. The old secret keeps signing for a day.
     *
     * Fails with `conflict` while another rotation is in progress, or if this rotation was not finished within ten
     * minutes.
     */
    readonly rotate: (
      call: Call,
      id: string
    ) => Effect.Effect<View, SubscriptionRefusal<"invalid_input" | "not_found" | "conflict" | "service_unavailable">>
    readonly jobs: JobHandlers<"cancel_deliveries" | "drop_subscription">
  }
>()("@quotewire/core/EventSubscriptions") {
  static readonly layer: Layer.Layer<
    EventSubscriptions,
    never,
    Storage | Workspaces | Seal | Ids | SecureRandom.SecureRandom | WebhookSender
  > = Layer.effect(
    EventSubscriptions,
    Effect.gen(function* () {
      const storage = yield* Storage
      const workspaces = yield* Workspaces
      const sender = yield* WebhookSender.loggable
      const create = yield* SubscriptionCreation.make
      const rotate = yield* SecretRotation.make
      const changes = yield* makeChanges
      const sending = Refusals.requireSender(sender)
      return EventSubscriptions.of({
        create: (call, input) =>
          Effect.andThen(
            sending,
            decideAtMoment(workspaces, call, (callAtMoment) => create(callAtMoment, input))
          ),
        list: yield* makeList,
        validateRest: (input, refused) => validateRest(sender, input, refused),
        update: (call, input) =>
          decideAtMoment(workspaces, call, (callAtMoment) => changes.update(callAtMoment, input)),
        disable: (call, id) => decideAtMoment(workspaces, call, (callAtMoment) => changes.disable(callAtMoment, id)),
        rotate: (call, id) =>
          Effect.andThen(
            sending,
            decideAtMoment(workspaces, call, (callAtMoment) =>
              Effect.flatMap(find(storage, callAtMoment.moment.workspace.id, id), (subscription) =>
                rotate(callAtMoment, subscription)
              )
            )
          ),
        jobs: {
          cancel_deliveries: (job, now) => cancelAll(storage, job, now),
          drop_subscription: (job, now) => drop(storage, job, now)
        }
      })
    })
  )
}

const makeList = Effect.gen(function* () {
  const storage = yield* Storage
  const seal = yield* Seal

  return Effect.fnUntraced(function* (call: Call, input: ListInput) {
    const { workspace, now } = call.moment
    const { limit = defaultLimit, cursor } = input
    const scope = { list: "event_subscriptions", workspace_id: workspace.id }
    const after = cursor === undefined ? null : yield* Cursor.read(seal, scope, cursor)
    const page = yield* storage.page({
      workspace_id: workspace.id,
      kind: StoredSubscription.kind.name,
      labels: [StoredSubscription.listedLabel],
      order: "newest",
      after,
      limit
    })
    return Json.encode<SubscriptionPage>({
      event_subscriptions: page.records.map((record) =>
        Subscription.viewOf(StoredSubscription.kind.value(record), null, now)
      ),
      next_cursor: page.next === null ? null : yield* Cursor.write(seal, scope, page.next)
    })
  })
})

/** Finds a subscription that can be changed. An unfinished subscription is reported as not found. */
const find = Effect.fnUntraced(function* (storage: Storage["Service"], workspaceId: WorkspaceId, id: string) {
  const subscription = yield* findSubscription(storage, workspaceId, id)
  return subscription.status === "unfinished" ? yield* ApiError.make("not_found") : subscription
})

/** Makes the methods with which owners change subscriptions. */
const makeChanges = Effect.gen(function* () {
  const storage = yield* Storage
  const workspaces = yield* Workspaces
  const sender = yield* WebhookSender.loggable

  const update = Effect.fnUntraced(function* (call: Call, input: UpdateInput) {
    const { workspace, now } = call.moment
    const subscription = yield* find(storage, workspace.id, input.id)
    if (subscription.status !== "active") return yield* Refusals.notActive
    if (input.url !== undefined) yield* Refusals.requireSender(sender)
    yield* check(sender, input)
    const turnsOn = input.url !== undefined && !subscription.delivery_enabled
    const changed = StoredSubscription.changed(
      subscription,
      {
        ...(input.url !== undefined && {
          url: WebhookAddress.normalize(input.url),
          delivery_enabled: true,
          hangs: false
        }),
        ...(input.event_types !== undefined && { event_types: input.event_types })
      },
      now
    )
    const health = yield* readOne(storage, EndpointHealth.kind, workspace.id, subscription.id)
    const reset = EndpointHealth.reset(health ?? EndpointHealth.unknown(subscription.id))
    const writes = turnsOn ? [EndpointHealth.toStored(reset, changed, now)] : []
    yield* commitAt({ storage, workspaces }, call.moment, {
      writes: [StoredSubscription.toStored(changed), ...writes]
    })
    return Json.encode(Subscription.viewOf(changed, null, now))
  })

  const disable = Effect.fnUntraced(function* (call: Call, id: string) {
    const { workspace, now } = call.moment
    const subscription = yield* find(storage, workspace.id, id)
    if (subscription.status === "disabled") return Json.encode(Subscription.viewOf(subscription, null, now))
    const disabled = StoredSubscription.changed(subscription, { status: "disabled", rotation: null }, now)
    // If this host dies, the job cancels the remaining deliveries. Otherwise the response waits until all open
    // deliveries are cancelled.
    const jobs = [cancelJob(subscription.id, now)]
    yield* commitAt({ storage, workspaces }, call.moment, { writes: [StoredSubscription.toStored(disabled)], jobs })
    yield* cancelOpenDeliveries(storage, { workspace_id: workspace.id, subscription_id: subscription.id }, now)
    return Json.encode(Subscription.viewOf(disabled, null, now))
  })

  return { update, disable }
})

/** Handles the job that drops a subscription if it is still unfinished after ten minutes. */
const drop = Effect.fnUntraced(function* (storage: Storage["Service"], job: ClaimedJob, now: number) {
  const { subscription_id } = JobPayload.read(job, "drop_subscription")
  const subscription = yield* readOne(storage, StoredSubscription.kind, job.workspace_id, subscription_id)
  const writes =
    subscription?.status === "unfinished"
      ? [StoredSubscription.toStored(StoredSubscription.changed(subscription, { status: "dropped" }, now))]
      : []
  yield* storage.commit(Change.make(job.workspace_id, { writes, finishes: [job] }))
})

/**
 * Handles the job that cancels the deliveries that were created before delivery was turned off. Newer deliveries stay,
 * because delivery may be on again.
 */
const cancelAll = Effect.fnUntraced(function* (storage: Storage["Service"], job: ClaimedJob, now: number) {
  const { subscription_id } = JobPayload.read(job, "cancel_deliveries")
  yield* cancelOpenDeliveries(storage, { workspace_id: job.workspace_id, subscription_id }, now, job.due_at + 1)
  yield* storage.commit(Change.make(job.workspace_id, { finishes: [job] }))
})
