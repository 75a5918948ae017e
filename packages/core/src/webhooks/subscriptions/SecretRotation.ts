import { Effect } from "effect"
import { SecureRandom } from "effect/crypto"
import { Seal } from "../../access/sealing/Seal.ts"
import { commitAt, Workspaces } from "../../access/Workspaces.ts"
import type { Call } from "../../calls/Call.ts"
import { Storage } from "../../storage/Storage.ts"
import * as ApiError from "../../wire/ApiError.ts"
import * as Subscription from "../records/EventSubscription.ts"
import * as StoredSubscription from "../records/StoredSubscription.ts"
import * as SubscriptionStore from "../records/SubscriptionStore.ts"
import { WebhookSender } from "../WebhookSender.ts"
import { withSecret } from "./SubscriptionCreation.ts"
import * as Refusals from "./SubscriptionRefusals.ts"
import * as TwoStepCalls from "./TwoStepCalls.ts"

/**
 * Makes the method that rotates secrets in two steps. The first step stores the new secret, which does not sign yet;
 * the second looks up the host.
 */
export const make = Effect.gen(function* () {
  const storage = yield* Storage
  const workspaces = yield* Workspaces
  const seal = yield* Seal
  const sender = yield* WebhookSender.loggable
  const begin = yield* makeBegin

  return Effect.fnUntraced(function* (call: Call, subscription: StoredSubscription.StoredSubscription) {
    const { workspace, now } = call.moment
    const key = call.idempotency_key
    if (subscription.status !== "active") return yield* Refusals.notActive
    // A retry: the first call finished, but the caller did not receive its response.
    if (key !== null && subscription.secrets[0]?.key === key)
      return yield* withSecret(seal, workspace.id, subscription, now)
    const open = Subscription.openRotation(subscription, now)
    // Only a call with the key that began the rotation can finish it. Calls with other keys must wait.
    if (open !== null && open.key !== key) return yield* Refusals.rotating
    const state = yield* TwoStepCalls.load(storage, call, TwoStepCalls.rotationId(subscription.id, key))
    if (open === null && state.begun.subscription_id !== null) return yield* Refusals.tooLate
    if (StoredSubscription.validSecrets(subscription, now).length >= Subscription.maxSecrets)
      return yield* Refusals.tooManySecrets
    const { begun, beginning } =
      open === null ? yield* begin(call, subscription, state) : { begun: subscription, beginning: state }
    const lookedUp = yield* sender.lookUp(begun.url)
    if (lookedUp === "unavailable") return yield* Refusals.nameServerDown
    const isRefused = lookedUp === "refused"
    const ended = isRefused
      ? StoredSubscription.changed(begun, { rotation: null }, now)
      : Subscription.rotated(begun, now)
    const extraWrites = isRefused ? [TwoStepCalls.toStored(TwoStepCalls.released(beginning), now)] : []
    yield* commitAt({ storage, workspaces }, call.moment, {
      writes: [StoredSubscription.toStored(ended), ...extraWrites]
    })
    if (isRefused) return yield* ApiError.invalidInput([Refusals.wrongUrl])
    return yield* withSecret(seal, workspace.id, ended, now)
  })
})

/** Makes the function for the first step: it stores the new secret, which does not sign yet. */
const makeBegin = Effect.gen(function* () {
  const storage = yield* Storage
  const workspaces = yield* Workspaces
  const seal = yield* Seal
  const random = yield* SecureRandom.SecureRandom

  return Effect.fnUntraced(function* (
    call: Call,
    subscription: StoredSubscription.StoredSubscription,
    previous: TwoStepCalls.TwoStepCall
  ) {
    const { workspace, now } = call.moment
    const { id } = subscription
    const until = now + Subscription.unfinishedMs
    const sealed = yield* SubscriptionStore.makeSecret(random, seal, workspace.id, id)
    const begun = StoredSubscription.changed(
      subscription,
      { rotation: { key: call.idempotency_key, sealed, until } },
      now
    )
    const beginning = TwoStepCalls.begin(previous, { subscription_id: id, until })
    const writes = [StoredSubscription.toStored(begun), TwoStepCalls.toStored(beginning, now)]
    yield* commitAt({ storage, workspaces }, call.moment, { writes })
    return { begun, beginning }
  })
})
