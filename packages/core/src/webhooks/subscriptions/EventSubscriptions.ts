import { Context, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import * as Cursor from "../../access/Cursor.ts"
import { Seal } from "../../access/Seal.ts"
import type { Call } from "../../calls/Call.ts"
import type { JobHandlers } from "../../runner/JobHandler.ts"
import * as JobPayload from "../../runner/JobPayload.ts"
import * as Change from "../../storage/Change.ts"
import type { ClaimedJob } from "../../storage/Job.ts"
import { commit, retryOnConflict } from "../../storage/retryOnConflict.ts"
import { Storage, type StorageUnavailable } from "../../storage/Storage.ts"
import * as ApiError from "../../wire/ApiError.ts"
import { Ids, type WorkspaceId } from "../../wire/Ids.ts"
import * as Json from "../../wire/Json.ts"
import { default_limit } from "../../wire/Page.ts"
import { cancelJob } from "../deliveries/DeliveryJob.ts"
import * as EndpointHealth from "../deliveries/EndpointHealth.ts"
import * as WebhookAddress from "../WebhookAddress.ts"
import { WebhookSender } from "../WebhookSender.ts"
import { cancelOpen } from "./Cancelling.ts"
import { create, type Means } from "./Creating.ts"
import * as Subscription from "./EventSubscription.ts"
import { rotate } from "./Rotating.ts"
import { check, validateRest } from "./SubscriptionChecks.ts"
import * as Refusals from "./SubscriptionRefusals.ts"
import { findSubscription, loadHealth, loadSubscription } from "./SubscriptionStore.ts"
import type { CreateInput, ListInput, SubscriptionPage, UpdateInput } from "./SubscriptionViews.ts"

type View = Json.Json<Subscription.EventSubscription>
type Refused<Code extends ApiError.ErrorCode> = ApiError.ApiError<Code> | StorageUnavailable

/** Makes, changes and ends subscriptions (api.md, Event subscriptions). */
export class EventSubscriptions extends Context.Service<
  EventSubscriptions,
  {
    /**
     * Makes a subscription in two steps: it is stored unfinished with its secret, then its host is looked up.
     *
     * `service_unavailable` where the look-up fails for now: the same key within ten minutes finishes with the same
     * secret; later it is a `conflict` with `use_new_request_key`. `conflict` also at the cap of ten.
     */
    readonly create: (
      call: Call,
      input: CreateInput
    ) => Effect.Effect<View, Refused<"invalid_input" | "conflict" | "service_unavailable">>
    readonly list: (
      call: Call,
      input: ListInput
    ) => Effect.Effect<Json.Json<SubscriptionPage>, Refused<"invalid_cursor">>
    /** What is wrong with url and types of an input of which other fields were refused for their form. */
    readonly validateRest: (
      input: unknown,
      refused: ReadonlyArray<ApiError.FieldError>
    ) => Effect.Effect<ApiError.WrongFields>
    /** Changes url or types; a url turns delivery on again after it was turned off. */
    readonly update: (
      call: Call,
      input: UpdateInput
    ) => Effect.Effect<View, Refused<"invalid_input" | "not_found" | "conflict" | "service_unavailable">>
    /** Disables a subscription and cancels what was to come; a second time is the same. */
    readonly disable: (call: Call, id: string) => Effect.Effect<View, Refused<"not_found">>
    /**
     * Makes a new secret in two steps, as `create` does; the old one signs beside it for a day.
     *
     * `conflict` where another rotation is under way, and where this one was not finished within ten minutes.
     */
    readonly rotate: (
      call: Call,
      id: string
    ) => Effect.Effect<View, Refused<"invalid_input" | "not_found" | "conflict" | "service_unavailable">>
    readonly jobs: JobHandlers<"cancel_deliveries" | "drop_subscription">
  }
>()("@quotewire/core/EventSubscriptions") {
  static readonly layer: Layer.Layer<
    EventSubscriptions,
    never,
    Storage | Seal | Ids | SecureRandom.SecureRandom | WebhookSender
  > = Layer.effect(
    EventSubscriptions,
    Effect.gen(function* () {
      const means: Means = {
        storage: yield* Storage,
        seal: yield* Seal,
        ids: yield* Ids,
        random: yield* SecureRandom.SecureRandom,
        sender: yield* WebhookSender.loggable
      }
      return EventSubscriptions.of({
        create: (call, input) => retryOnConflict(create(means, call, input)),
        list: (call, input) => list(means, call, input),
        validateRest: (input, refused) => validateRest(means.sender, input, refused),
        update: (call, input) => retryOnConflict(update(means, call, input)),
        disable: (call, id) => retryOnConflict(disable(means, call, id)),
        rotate: (call, id) =>
          retryOnConflict(
            Effect.flatMap(find(means, call.moment.workspace.id, id), (found) => rotate(means, call, found))
          ),
        jobs: {
          cancel_deliveries: (job, at) => cancelAll(means, job, at),
          drop_subscription: (job, at) => drop(means, job, at)
        }
      })
    })
  )
}

const list = Effect.fnUntraced(function* (means: Means, call: Call, input: ListInput) {
  const { workspace, now } = call.moment
  const { limit = default_limit, cursor } = input
  const scope = { list: "event_subscriptions", workspace_id: workspace.id }
  const after = cursor === undefined ? null : yield* Cursor.read(means.seal, scope, cursor)
  const page = yield* means.storage.page({
    workspace_id: workspace.id,
    kind: Subscription.kind.name,
    labels: [Subscription.listed_label],
    order: "newest",
    after,
    limit
  })
  return Json.encode<SubscriptionPage>({
    event_subscriptions: page.records.map((record) => Subscription.viewOf(Subscription.kind.value(record), null, now)),
    next_cursor: page.next === null ? null : yield* Cursor.write(means.seal, scope, page.next)
  })
})

/** A subscription that can be changed: one that is not finished is not there yet. */
const find = Effect.fnUntraced(function* ({ storage }: Means, workspace_id: WorkspaceId, id: string) {
  const subscription = yield* findSubscription(storage, workspace_id, id)
  return subscription.status === "unfinished" ? yield* ApiError.make("not_found") : subscription
})

const update = Effect.fnUntraced(function* (means: Means, call: Call, input: UpdateInput) {
  const { workspace, now } = call.moment
  const subscription = yield* find(means, workspace.id, input.id)
  if (subscription.status !== "active") return yield* Refusals.notActive
  yield* check(means.sender, input)
  const turnsOn = input.url !== undefined && !subscription.delivery_enabled
  const changed = Subscription.change(
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
  const health = yield* loadHealth(means.storage, workspace.id, subscription.id)
  const writes = turnsOn ? [EndpointHealth.toStored(EndpointHealth.forgiven(health), changed, now)] : []
  yield* commit(means.storage, Change.make(workspace.id, { writes: [Subscription.toStored(changed), ...writes] }))
  return Json.encode(Subscription.viewOf(changed, null, now))
})

const disable = Effect.fnUntraced(function* (means: Means, call: Call, id: string) {
  const { workspace, now } = call.moment
  const subscription = yield* find(means, workspace.id, id)
  if (subscription.status === "disabled") return Json.encode(Subscription.viewOf(subscription, null, now))
  const disabled = Subscription.change(subscription, { status: "disabled", rotation: null }, now)
  // The job is for a host that dies here: the answer comes when everything is cancelled.
  const jobs = [cancelJob(subscription.id, now)]
  yield* commit(means.storage, Change.make(workspace.id, { writes: [Subscription.toStored(disabled)], jobs }))
  yield* cancelOpen(means.storage, workspace.id, subscription.id, now)
  return Json.encode(Subscription.viewOf(disabled, null, now))
})

/** An unfinished subscription is dropped when its ten minutes are over. */
const drop = Effect.fnUntraced(function* (means: Means, job: ClaimedJob, at: number) {
  const { subscription_id } = JobPayload.read(job, "drop_subscription")
  const subscription = yield* loadSubscription(means.storage, job.workspace_id, subscription_id)
  const writes =
    subscription?.status === "unfinished"
      ? [Subscription.toStored(Subscription.change(subscription, { status: "dropped" }, at))]
      : []
  yield* means.storage.commit(Change.make(job.workspace_id, { writes, finishes: [job] }))
})

/** Cancels what was handed over before delivery turned off; it may have been turned on again. */
const cancelAll = Effect.fnUntraced(function* (means: Means, job: ClaimedJob, at: number) {
  const { subscription_id } = JobPayload.read(job, "cancel_deliveries")
  yield* cancelOpen(means.storage, job.workspace_id, subscription_id, at, job.due_at + 1)
  yield* means.storage.commit(Change.make(job.workspace_id, { finishes: [job] }))
})
