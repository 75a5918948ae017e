import { Effect } from "effect"
import type { SecureRandom } from "effect/crypto"
import type { Seal } from "../../access/sealing/Seal.ts"
import type { RecordPage } from "../../storage/Page.ts"
import { readOne, type Storage } from "../../storage/Storage.ts"
import * as ApiError from "../../wire/ApiError.ts"
import type { SubscriptionId, WorkspaceId } from "../../wire/Ids.ts"
import * as Signature from "../Signature.ts"
import { maxActive } from "./EventSubscription.ts"
import * as StoredSubscription from "./StoredSubscription.ts"

/* Reads a workspace's subscriptions, and makes and opens their signing secrets. */

type StorageService = Storage["Service"]

/** Reads a subscription that its owner can see. Fails with `not_found` if no such subscription exists. */
export const findSubscription = Effect.fnUntraced(function* (
  storage: StorageService,
  workspace_id: WorkspaceId,
  id: string
) {
  const subscription = yield* readOne(storage, StoredSubscription.kind, workspace_id, id)
  if (subscription === null || subscription.status === "dropped") return yield* ApiError.make("not_found")
  return subscription
})

/**
 * Lists a workspace's active subscriptions, oldest first; at most ten.
 *
 * Active subscriptions have their own parent, so that disabled subscriptions do not slow this list down. The list is
 * read whenever the recipients of events have changed.
 */
export const activeSubscriptions = Effect.fnUntraced(function* (storage: StorageService, workspace_id: WorkspaceId) {
  const active: Array<StoredSubscription.StoredSubscription> = []
  let after: string | null = null
  do {
    // A page may be short, but the next page continues exactly after it.
    const page: RecordPage = yield* storage.page({
      workspace_id,
      kind: StoredSubscription.kind.name,
      parent: StoredSubscription.activeParent,
      order: "oldest",
      after,
      limit: maxActive
    })
    active.push(...page.records.map(StoredSubscription.kind.value))
    after = active.length < maxActive ? page.next : null
  } while (after !== null)
  return active
})

/** Creates a secret that is sealed for its subscription in this workspace. */
export const makeSecret = Effect.fnUntraced(function* (
  random: SecureRandom.SecureRandom["Service"],
  seal: Seal["Service"],
  workspace_id: WorkspaceId,
  id: SubscriptionId
) {
  return yield* seal.seal(
    StoredSubscription.purposeOfSecrets(workspace_id, id),
    Signature.makeSecret(yield* random.randomBytes(Signature.secretBytes))
  )
})

/** Opens the newest secret, to show it once. Failing to open it means that the seal keys in the settings are wrong. */
export const openNewestSecret = Effect.fnUntraced(function* (
  seal: Seal["Service"],
  workspace_id: WorkspaceId,
  { id, secrets }: StoredSubscription.StoredSubscription
) {
  const secret = yield* seal.open(StoredSubscription.purposeOfSecrets(workspace_id, id), secrets[0]?.sealed ?? "")
  return secret === null ? yield* Effect.die(new Error("A signing secret cannot be opened")) : secret
})
