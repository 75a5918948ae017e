import { Schema } from "effect"
import { Environment } from "../../access/Caller.ts"
import type { StoredRecord } from "../../storage/Change.ts"
import * as Kind from "../../storage/Kind.ts"
import { SubscriptionId, type WorkspaceId } from "../../wire/Ids.ts"

/** A signing secret as stored. */
export const StoredSecret = Schema.Struct({
  sealed: Schema.String,
  /** When the secret stops signing, in milliseconds of workspace time; null for the newest secret. */
  expires_at: Schema.NullOr(Schema.Int),
  /**
   * The `Idempotency-Key` of the rotation that made the secret. If the response to the rotation was lost, a retry shows
   * the same secret.
   */
  key: Schema.NullOr(Schema.String)
})
export type StoredSecret = typeof StoredSecret.Type

/** A subscription as stored. Times are milliseconds of workspace time. */
export const StoredSubscription = Schema.Struct({
  id: SubscriptionId,
  version: Schema.Int,
  environment: Environment,
  url: Schema.String,
  /**
   * `unfinished` until the host has been looked up; `dropped` if the subscription was not finished in time, or if its
   * host is not public.
   */
  status: Schema.Literals(["unfinished", "active", "disabled", "dropped"]),
  event_types: Schema.Array(Schema.String),
  delivery_enabled: Schema.Boolean,
  /**
   * Whether the endpoint hangs, which means that it accepts attempts and lets them time out. Only a few attempts then
   * run at a time.
   */
  hangs: Schema.Boolean,
  /** The secrets, newest first. */
  secrets: Schema.Array(StoredSecret),
  /**
   * The rotation in progress, with its secret and the deadline for finishing it; null if no rotation is in progress.
   */
  rotation: Schema.NullOr(
    Schema.Struct({ key: Schema.NullOr(Schema.String), sealed: Schema.String, until: Schema.Int })
  ),
  created_at: Schema.Int,
  updated_at: Schema.Int
})
export type StoredSubscription = typeof StoredSubscription.Type

/**
 * The record kind for subscriptions, keyed by ID. Lists can select the active subscriptions, or the subscriptions that
 * their owner can see.
 */
export const kind: Kind.Kind<"subscription", StoredSubscription> = Kind.make({
  name: "subscription",
  schema: StoredSubscription,
  survives_reset: true,
  sealed_texts: (workspaceId, record) => secretsIn(workspaceId, kind.value(record)),
  listing: (subscription) => ({
    parent: subscription.status === "active" ? activeParent : null,
    status: subscription.status,
    labels: isListed(subscription) ? [listedLabel] : []
  })
})

/**
 * The purpose for which a subscription's secrets are sealed. Secrets cannot be opened for another subscription, because
 * its purpose differs.
 */
export const purposeOfSecrets = (workspaceId: WorkspaceId, id: SubscriptionId): string =>
  `signing secret ${workspaceId} ${id}`

const secretsIn = (workspaceId: WorkspaceId, subscription: StoredSubscription): Kind.SealedTexts => {
  const { id, rotation, secrets, updated_at } = subscription
  return {
    purpose: purposeOfSecrets(workspaceId, id),
    texts: [...secrets, ...(rotation === null ? [] : [rotation])].map(({ sealed }) => sealed),
    resealed: (reseal) =>
      toStored(
        changed(
          subscription,
          {
            secrets: secrets.map((secret) => ({ ...secret, sealed: reseal(secret.sealed) })),
            rotation: rotation === null ? null : { ...rotation, sealed: reseal(rotation.sealed) }
          },
          updated_at
        )
      )
  }
}

/**
 * Makes the next version with these changes. A reset can set the clock back, but `updated_at` is never earlier than
 * `created_at`.
 */
export const changed = (
  subscription: StoredSubscription,
  changes: Partial<Omit<StoredSubscription, "id" | "version" | "environment" | "created_at">>,
  now: number
): StoredSubscription => ({
  ...subscription,
  ...changes,
  version: subscription.version + 1,
  updated_at: Math.max(now, subscription.created_at)
})

/** Whether events are delivered to this subscription. */
export const receives = (subscription: StoredSubscription): boolean =>
  subscription.status === "active" && subscription.delivery_enabled

/** The stored record of a subscription. */
export const toStored = (subscription: StoredSubscription): StoredRecord => {
  const { id, version, created_at, updated_at } = subscription
  return kind.record(subscription, { id, version, created_at, updated_at })
}

/** The parent of active subscriptions. Lists by this parent do not read other subscriptions. */
export const activeParent = "active"

/** The status label of subscriptions that their owner can see. */
export const listedLabel = "listed"

const isListed = ({ status }: StoredSubscription): boolean => status === "active" || status === "disabled"

/** The secrets that are valid at a given time, newest first. */
export const validSecrets = (subscription: StoredSubscription, now: number): ReadonlyArray<StoredSecret> =>
  subscription.secrets.filter(({ expires_at }) => expires_at === null || now < expires_at)
