import { Effect, Option } from "effect"
import type { SecureRandom } from "effect/crypto"
import type { Seal } from "../../access/Seal.ts"
import { BoundedMap } from "../../concurrency/BoundedMap.ts"
import type { RecordPage } from "../../storage/Page.ts"
import type { Storage } from "../../storage/Storage.ts"
import * as ApiError from "../../wire/ApiError.ts"
import type { SubscriptionId, WorkspaceId } from "../../wire/Ids.ts"
import * as Signature from "../Signature.ts"
import * as Delivery from "./Delivery.ts"
import * as Endpoint from "./Endpoint.ts"
import { maxActive } from "./EventSubscription.ts"

/*
 * Reads of what a delivery needs: subscriptions, the health of their endpoints, deliveries, and opened signing secrets.
 */

type StorageService = Storage["Service"]

/** Reads a subscription of a workspace in any status; null if there is none. */
export const loadSubscription = (storage: StorageService, workspace_id: WorkspaceId, id: string) =>
  Effect.map(
    storage.get({ workspace_id, kind: Endpoint.subscriptionKind.name, id }),
    (stored): Endpoint.KeptSubscription | null =>
      Option.isNone(stored) ? null : Endpoint.subscriptionKind.value(stored.value)
  )

/** Reads a subscription that its owner can see, or fails with `not_found`. */
export const findSubscription = Effect.fnUntraced(function* (
  storage: StorageService,
  workspaceId: WorkspaceId,
  id: string
) {
  const subscription = yield* loadSubscription(storage, workspaceId, id)
  if (subscription === null || subscription.status === "dropped") return yield* ApiError.make("not_found")
  return subscription
})

/**
 * The active subscriptions of a workspace, oldest first; at most ten.
 *
 * They are listed under a separate parent, so that disabled subscriptions cost nothing: this list is read whenever the
 * recipients of events have changed.
 */
export const activeSubscriptions = Effect.fnUntraced(function* (storage: StorageService, workspace_id: WorkspaceId) {
  const active: Array<Endpoint.KeptSubscription> = []
  let after: string | null = null
  do {
    // A page may be short, but it skips nothing.
    const page: RecordPage = yield* storage.page({
      workspace_id,
      kind: Endpoint.subscriptionKind.name,
      parent: Endpoint.activeParent,
      order: "oldest",
      after,
      limit: maxActive
    })
    active.push(...page.records.map(Endpoint.subscriptionKind.value))
    after = active.length < maxActive ? page.next : null
  } while (after !== null)
  return active
})

/** Reads the health of an endpoint. */
export const loadHealth = (storage: StorageService, workspace_id: WorkspaceId, id: SubscriptionId) =>
  Effect.map(storage.get({ workspace_id, kind: Endpoint.healthKind.name, id }), (stored) =>
    Option.isNone(stored) ? Endpoint.unknownHealth(id) : Endpoint.healthKind.value(stored.value)
  )

/** Reads a delivery; null if the event was not queued for this subscription. */
export const loadDelivery = (
  storage: StorageService,
  workspace_id: WorkspaceId,
  subscriptionId: SubscriptionId,
  eventId: string
) =>
  Effect.map(
    storage.get({ workspace_id, kind: Delivery.kind.name, id: Delivery.idOf(subscriptionId, eventId) }),
    (stored): Delivery.KeptDelivery | null => {
      const delivery = Option.isNone(stored) ? null : Delivery.kind.value(stored.value)
      return delivery?.event_id === eventId ? delivery : null
    }
  )

/** Makes a secret, sealed for its subscription in this workspace. */
export const makeSecret = Effect.fnUntraced(function* (
  random: SecureRandom.SecureRandom["Service"],
  seal: Seal["Service"],
  workspaceId: WorkspaceId,
  id: SubscriptionId
) {
  return yield* seal.seal(
    Endpoint.purposeOfSecrets(workspaceId, id),
    Signature.makeSecret(yield* random.randomBytes(Signature.secretBytes))
  )
})

/** Opens the newest secret, to show it once. If it cannot be opened, the seal keys in the settings are wrong. */
export const openNewestSecret = Effect.fnUntraced(function* (
  seal: Seal["Service"],
  workspaceId: WorkspaceId,
  { id, secrets }: Endpoint.KeptSubscription
) {
  const secret = yield* seal.open(Endpoint.purposeOfSecrets(workspaceId, id), secrets[0]?.sealed ?? "")
  return secret === null ? yield* Effect.die("A signing secret cannot be opened") : secret
})

/** A cache of opened secrets: every attempt needs them, and opening costs more than signing. */
export type OpenedSecrets = BoundedMap<string, string>

/** An empty cache. It holds 10,000 secrets. */
export const noneOpened = (): OpenedSecrets => new BoundedMap(10_000)

/** Opens the secrets that are valid at a moment, newest first. Without any, nothing may be sent. */
export const openSecrets = Effect.fnUntraced(function* (
  seal: Seal["Service"],
  workspaceId: WorkspaceId,
  subscription: Endpoint.KeptSubscription,
  at: number,
  opened: OpenedSecrets
) {
  const purpose = Endpoint.purposeOfSecrets(workspaceId, subscription.id)
  const secrets: Array<string> = []
  for (const { sealed } of Endpoint.validSecrets(subscription, at)) {
    const name = `${purpose} ${sealed}`
    const known = opened.get(name)
    const secret = known ?? (yield* seal.open(purpose, sealed))
    if (secret === null) continue
    if (known === undefined) opened.set(name, secret)
    secrets.push(secret)
  }
  return secrets.length === 0 ? yield* Effect.die("No signing secret can be opened") : secrets
})
