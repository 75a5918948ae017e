import { Clock, Context, Effect, Layer, Option } from "effect"
import { Mac } from "effect/crypto"
import { Allowance } from "../../access/Allowance.ts"
import * as Cursor from "../../access/Cursor.ts"
import { Seal } from "../../access/Seal.ts"
import type { Call } from "../../calls/Call.ts"
import * as Revision from "../../calls/Revision.ts"
import { Revisions } from "../../calls/Revisions.ts"
import type { JobHandler, JobHandlers } from "../../runner/JobHandler.ts"
import * as Change from "../../storage/Change.ts"
import type { Kind } from "../../storage/Kind.ts"
import { commit, retryOnConflict } from "../../storage/retryOnConflict.ts"
import { Storage, type StorageUnavailable } from "../../storage/Storage.ts"
import * as ApiError from "../../wire/ApiError.ts"
import { Ids } from "../../wire/Ids.ts"
import * as Json from "../../wire/Json.ts"
import { default_limit } from "../../wire/Page.ts"
import { day_ms, fromMillis, minute_ms, second_ms } from "../../wire/Timestamp.ts"
import * as Subscription from "../subscriptions/EventSubscription.ts"
import { findSubscription, loadDelivery, loadHealth } from "../subscriptions/SubscriptionStore.ts"
import type {
  DeliveriesInput,
  DeliveryInput,
  DeliveryPage,
  ReplayResult,
  TestEvent,
  TestResult
} from "../subscriptions/SubscriptionViews.ts"
import { WebhookHeaderPrefix } from "../WebhookHeaders.ts"
import { WebhookSender } from "../WebhookSender.ts"
import { type Means as AttemptMeans, abandon, attempt } from "./Attempting.ts"
import * as AttemptWriter from "./AttemptWriter.ts"
import * as Delivery from "./Delivery.ts"
import { manualJob } from "./DeliveryJob.ts"
import * as EndpointHealth from "./EndpointHealth.ts"
import * as HandedOver from "./HandedOver.ts"

type Refused<Code extends ApiError.ErrorCode> = ApiError.ApiError<Code> | StorageUnavailable

/** Delivers events, and shows what came of it (api.md, Event subscriptions and Webhook delivery). */
export class Deliveries extends Context.Service<
  Deliveries,
  {
    /** The delivery log of the last 30 days, newest first, test events included. */
    readonly list: (
      call: Call,
      input: DeliveriesInput
    ) => Effect.Effect<Json.Json<DeliveryPage>, Refused<"not_found" | "invalid_cursor">>
    /** One delivery with its newest attempts. */
    readonly get: (
      call: Call,
      input: DeliveryInput
    ) => Effect.Effect<Json.Json<Delivery.Delivery>, Refused<"not_found">>
    readonly health: (
      call: Call,
      id: string
    ) => Effect.Effect<Json.Json<EndpointHealth.SubscriptionHealth>, Refused<"not_found">>
    /** Hands a test event to delivery: ten a minute for a subscription. */
    readonly test: (
      call: Call,
      id: string
    ) => Effect.Effect<
      Json.Json<TestResult>,
      Refused<"not_found" | "conflict" | "rate_limited" | "service_unavailable" | "invalid_input">
    >
    /** Hands an event of the log to delivery again: five times a day for an event. */
    readonly replay: (
      call: Call,
      input: DeliveryInput
    ) => Effect.Effect<
      Json.Json<ReplayResult>,
      Refused<"not_found" | "conflict" | "rate_limited" | "service_unavailable" | "invalid_input">
    >
    readonly jobs: JobHandlers<"deliver">
    /** Ends an attempt that has died too often. */
    readonly abandon: JobHandler
  }
>()("@quotewire/core/Deliveries") {
  static readonly layer: Layer.Layer<
    Deliveries,
    never,
    Storage | Seal | Ids | Allowance | Revisions | Mac.Mac | WebhookSender
  > = Layer.effect(
    Deliveries,
    Effect.gen(function* () {
      const storage = yield* Storage
      const means: Means = {
        storage,
        seal: yield* Seal,
        ids: yield* Ids,
        allowance: yield* Allowance,
        revisions: yield* Revisions,
        mac: yield* Mac.Mac,
        sender: yield* WebhookSender.loggable,
        header_prefix: yield* WebhookHeaderPrefix,
        keys: new Map(),
        opened: new Map(),
        write: yield* AttemptWriter.make(storage)
      }
      return Deliveries.of({
        list: (call, input) => list(means, call, input),
        get: (call, input) => get(means, call, input),
        health: (call, id) => health(means, call, id),
        test: (call, id) => retryOnConflict(test(means, call, id)),
        replay: (call, input) => retryOnConflict(replay(means, call, input)),
        jobs: { deliver: (job, at) => attempt(means, job, at) },
        abandon: (job, at) => abandon(means, job, at)
      })
    })
  )
}

interface Means extends AttemptMeans {
  readonly ids: Ids["Service"]
  readonly allowance: Allowance["Service"]
  readonly revisions: Revisions["Service"]
}

/** Tests of a subscription in a minute, and replays of an event in a day (api.md, Limits). */
const max_tests = 10
const max_replays = 5

const list = Effect.fnUntraced(function* (means: Means, call: Call, input: DeliveriesInput) {
  const workspace_id = call.caller.workspace_id
  const { id } = yield* findSubscription(means.storage, workspace_id, input.id)
  const scope = { list: `deliveries ${id}`, workspace_id }
  const after = input.cursor === undefined ? null : yield* Cursor.read(means.seal, scope, input.cursor)
  const page = yield* means.storage.page({
    workspace_id,
    kind: Delivery.kind.name,
    parent: id,
    order: "newest",
    after,
    limit: input.limit ?? default_limit
  })
  return Json.encode<DeliveryPage>({
    deliveries: page.records.map((record) => Delivery.entryOf(Delivery.kind.value(record))),
    next_cursor: page.next === null ? null : yield* Cursor.write(means.seal, scope, page.next)
  })
})

const find = Effect.fnUntraced(function* (means: Means, call: Call, input: DeliveryInput) {
  const workspace_id = call.caller.workspace_id
  const subscription = yield* findSubscription(means.storage, workspace_id, input.id)
  const delivery = yield* loadDelivery(means.storage, workspace_id, subscription.id, input.event_id)
  if (delivery === null) return yield* ApiError.make("not_found")
  return { subscription, delivery }
})

const get = Effect.fnUntraced(function* (means: Means, call: Call, input: DeliveryInput) {
  const { delivery } = yield* find(means, call, input)
  return Json.encode<Delivery.Delivery>({ ...Delivery.entryOf(delivery), attempts: delivery.attempts })
})

const health = Effect.fnUntraced(function* (means: Means, call: Call, id: string) {
  const subscription = yield* findSubscription(means.storage, call.caller.workspace_id, id)
  const kept = yield* loadHealth(means.storage, call.caller.workspace_id, subscription.id)
  return Json.encode(EndpointHealth.viewOf(subscription, kept))
})

const test = Effect.fnUntraced(function* (means: Means, call: Call, id: string) {
  const { workspace, now } = call.moment
  const subscription = yield* findSubscription(means.storage, workspace.id, id)
  const once = HandedOver.testId(subscription.id, call.idempotency_key)
  const handed = yield* handedBefore(means, call, HandedOver.tests, once)
  if (handed !== null) return handed
  yield* checkReceives(means, subscription)
  const kept = yield* loadHealth(means.storage, workspace.id, subscription.id)
  const real_now = yield* Clock.currentTimeMillis
  const recent = EndpointHealth.recentTests(kept, real_now)
  if (recent.length >= max_tests) {
    return yield* limited(`${max_tests} tests of a subscription a minute`, (recent[0] ?? 0) + minute_ms - real_now)
  }
  const revision = yield* means.revisions.pin(workspace.id)
  const event: TestEvent = {
    id: means.ids.test_event(),
    type: "webhook.test",
    schema_version: revision.date,
    occurred_at: fromMillis(now),
    environment: workspace.environment,
    subscription_id: subscription.id
  }
  const delivery = Delivery.handOver({
    subscription_id: subscription.id,
    event_id: event.id,
    event_type: event.type,
    payload: Revision.event(revision, Json.encode(event)).text,
    at: now
  })
  const tested = EndpointHealth.tested(kept, real_now)
  const writes = [Delivery.toStored(delivery, now), EndpointHealth.toStored(tested, subscription, now)]
  const result: TestResult = { subscription_id: subscription.id, event }
  return yield* handOver(means, call, delivery, writes, { kind: HandedOver.tests, id: once, result })
})

const replay = Effect.fnUntraced(function* (means: Means, call: Call, input: DeliveryInput) {
  const { now } = call.moment
  const { subscription, delivery } = yield* find(means, call, input)
  const once = HandedOver.replayId(subscription.id, delivery.event_id, call.idempotency_key)
  const handed = yield* handedBefore(means, call, HandedOver.replays, once)
  if (handed !== null) return handed
  yield* checkReceives(means, subscription)
  const real_now = yield* Clock.currentTimeMillis
  const recent = Delivery.recentReplays(delivery, real_now)
  if (recent.length >= max_replays) {
    return yield* limited(`${max_replays} replays of an event a day`, (recent[0] ?? 0) + day_ms - real_now)
  }
  const next = Delivery.replayed(delivery, now, real_now)
  const result: ReplayResult = { subscription_id: subscription.id, event_id: delivery.event_id }
  const answer = { kind: HandedOver.replays, id: once, result }
  return yield* handOver(means, call, next, [Delivery.toStored(next, now)], answer)
})

/** What a call with this key has handed over, where only its answer was lost. */
const handedBefore = <A>({ storage }: Means, call: Call, kind: Kind<string, A>, id: string) =>
  Effect.map(storage.get({ workspace_id: call.moment.workspace.id, kind: kind.name, id }), (stored) =>
    Option.isNone(stored) ? null : kind.json(stored.value)
  )

/** Hands a test or a replay to delivery, together with the answer to be given if this one is lost. */
const handOver = <A>(
  means: Means,
  call: Call,
  delivery: Delivery.KeptDelivery,
  writes: ReadonlyArray<Change.StoredRecord>,
  answer: { readonly kind: Kind<string, A>; readonly id: string; readonly result: A }
) => {
  const { workspace, now } = call.moment
  const record = answer.kind.record(answer.result, { id: answer.id, version: 1, created_at: now, updated_at: now })
  const change = Change.make(workspace.id, { writes: [...writes, record], jobs: [manualJob(delivery)] })
  const committed = commit(means.storage, change)
  return Effect.as(means.allowance.handingOver(call.caller, committed), answer.kind.json(record))
}

/** A test or replay needs a subscription that receives, and a host that is (still) public. */
const checkReceives = Effect.fnUntraced(function* (means: Means, subscription: Subscription.KeptSubscription) {
  if (!Subscription.receives(subscription)) {
    return yield* ApiError.make("conflict", {
      message: "The subscription is disabled, or its delivery is turned off.",
      retry_action: "none"
    })
  }
  const looked = yield* means.sender.lookUp(subscription.url)
  if (looked === "unavailable") {
    return yield* ApiError.make("service_unavailable", {
      message: "The host of the subscription cannot be looked up now.",
      retry_after_seconds: 5
    })
  }
  if (looked === "refused") {
    return yield* ApiError.make("conflict", {
      message: "The host of the subscription is not a public one any more; change its url.",
      retry_action: "none"
    })
  }
})

const limited = (what: string, left_ms: number) =>
  ApiError.make("rate_limited", {
    message: `The limit of ${what} was reached.`,
    retry_after_seconds: Math.max(1, Math.ceil(left_ms / second_ms))
  })
