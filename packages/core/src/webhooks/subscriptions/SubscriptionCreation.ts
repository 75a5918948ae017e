import { Effect } from "effect"
import { SecureRandom } from "effect/crypto"
import { Seal } from "../../access/sealing/Seal.ts"
import { commitAt, Workspaces } from "../../access/Workspaces.ts"
import type { Call } from "../../calls/Call.ts"
import { otherInput } from "../../calls/IdempotentCalls.ts"
import { readOne, Storage } from "../../storage/Storage.ts"
import * as ApiError from "../../wire/ApiError.ts"
import { countOf } from "../../wire/FieldError.ts"
import { Ids, type WorkspaceId } from "../../wire/Ids.ts"
import * as Json from "../../wire/Json.ts"
import { dropJob } from "../records/Delivery.ts"
import * as Subscription from "../records/EventSubscription.ts"
import * as StoredSubscription from "../records/StoredSubscription.ts"
import { activeSubscriptions, makeSecret, openNewestSecret } from "../records/SubscriptionStore.ts"
import * as WebhookAddress from "../WebhookAddress.ts"
import { WebhookSender } from "../WebhookSender.ts"
import * as Recipients from "./Recipients.ts"
import { check } from "./SubscriptionChecks.ts"
import * as Refusals from "./SubscriptionRefusals.ts"
import type { CreateInput } from "./SubscriptionViews.ts"
import * as TwoStepCalls from "./TwoStepCalls.ts"

/**
 * Makes the method that creates subscriptions in two steps. The first step stores an unfinished subscription with its
 * secret; the second looks up its host.
 */
export const make = Effect.gen(function* () {
  const storage = yield* Storage
  const workspaces = yield* Workspaces
  const seal = yield* Seal
  const sender = yield* WebhookSender.loggable
  const begin = yield* makeBegin

  return Effect.fnUntraced(function* (call: Call, input: CreateInput) {
    const { workspace, now } = call.moment
    if (countOf(Subscription.checkEventTypes(input.event_types)) > 0) yield* check(sender, input)
    const state = yield* TwoStepCalls.load(storage, call, TwoStepCalls.creationId(call.idempotency_key))
    const beginning = state.begun.subscription_id === null ? yield* begin(call, input, state) : state
    const { begun } = beginning
    const subscription = yield* readOne(storage, StoredSubscription.kind, workspace.id, begun.subscription_id ?? "")
    if (subscription === null) return yield* Refusals.tooLate
    if (
      subscription.url !== WebhookAddress.normalize(input.url) ||
      subscription.event_types.join() !== input.event_types.join()
    ) {
      return yield* otherInput
    }
    // A retry: the first call finished, but the caller did not receive its response.
    if (subscription.status === "active") return yield* withSecret(seal, workspace.id, subscription, now)
    if (subscription.status !== "unfinished" || now >= begun.until) return yield* Refusals.tooLate
    // Look up the URL as the caller sent it, because normalization could hide the reason to refuse it.
    const lookedUp = yield* sender.lookUp(input.url)
    if (lookedUp === "unavailable") return yield* Refusals.nameServerDown
    const finished = StoredSubscription.changed(
      subscription,
      { status: lookedUp === "refused" ? "dropped" : "active" },
      now
    )
    const extraWrite =
      lookedUp === "refused"
        ? TwoStepCalls.toStored(TwoStepCalls.released(beginning), now)
        : yield* reservePlace(storage, workspace.id, now)
    yield* commitAt({ storage, workspaces }, call.moment, {
      writes: [StoredSubscription.toStored(finished), extraWrite]
    })
    if (lookedUp === "refused") return yield* ApiError.invalidInput([Refusals.wrongUrl])
    return yield* withSecret(seal, workspace.id, finished, now)
  })
})

/** Makes the function for the first step. The subscription receives nothing yet, and is not listed. */
const makeBegin = Effect.gen(function* () {
  const storage = yield* Storage
  const workspaces = yield* Workspaces
  const seal = yield* Seal
  const ids = yield* Ids
  const random = yield* SecureRandom.SecureRandom

  return Effect.fnUntraced(function* (call: Call, input: CreateInput, previous: TwoStepCalls.TwoStepCall) {
    const { workspace, now } = call.moment
    yield* checkCap(storage, workspace.id)
    const id = ids.subscription()
    const subscription = Subscription.createUnfinished({
      id,
      environment: workspace.environment,
      url: WebhookAddress.normalize(input.url),
      event_types: input.event_types,
      sealed: yield* makeSecret(random, seal, workspace.id, id),
      at: now
    })
    const until = now + Subscription.unfinishedMs
    const beginning = TwoStepCalls.begin(previous, { subscription_id: id, until })
    yield* commitAt({ storage, workspaces }, call.moment, {
      writes: [StoredSubscription.toStored(subscription), TwoStepCalls.toStored(beginning, now)],
      jobs: [dropJob(id, until, workspace.environment === "sandbox")]
    })
    return beginning
  })
})

/** Makes the response that shows a subscription's secret. */
export const withSecret = Effect.fnUntraced(function* (
  seal: Seal["Service"],
  workspaceId: WorkspaceId,
  subscription: StoredSubscription.StoredSubscription,
  now: number
) {
  return Json.encode(Subscription.viewOf(subscription, yield* openNewestSecret(seal, workspaceId, subscription), now))
})

const checkCap = Effect.fnUntraced(function* (storage: Storage["Service"], workspaceId: WorkspaceId) {
  const active = yield* activeSubscriptions(storage, workspaceId)
  if (active.length >= Subscription.maxActive) return yield* Refusals.capReached
})

/**
 * Reserves one of the slots for active subscriptions. If two calls compete for the last slot, one of them conflicts and
 * counts again.
 */
const reservePlace = Effect.fnUntraced(function* (storage: Storage["Service"], workspaceId: WorkspaceId, now: number) {
  const taken = yield* Recipients.nextVersion(storage, workspaceId, now)
  yield* checkCap(storage, workspaceId)
  return taken
})
