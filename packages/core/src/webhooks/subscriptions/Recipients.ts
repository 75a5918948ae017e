import { Effect, Option, Schema } from "effect"
import type * as Change from "../../storage/Change.ts"
import * as Kind from "../../storage/Kind.ts"
import type { Storage, StorageUnavailable, VersionConflict } from "../../storage/Storage.ts"
import type { WorkspaceId } from "../../wire/Ids.ts"
import { receives, type StoredSubscription } from "../records/StoredSubscription.ts"
import { activeSubscriptions } from "../records/SubscriptionStore.ts"

type StorageService = Storage["Service"]

/** The subscriptions that receive a workspace's events, and the version at which they were read. */
export interface Recipients {
  readonly subscriptions: ReadonlyArray<StoredSubscription>
  /** The expectation for every change that is based on these recipients. */
  readonly seen: Change.Expectation
}

/**
 * The record kind that counts versions of a workspace's recipients. Each workspace has one record, without content, and
 * every change to the recipients raises its version.
 */
export const kind = Kind.make({ name: "recipients", schema: Schema.Struct({}), survives_reset: true })

/** Reads the subscriptions that receive a workspace's events now. */
export const load = Effect.fnUntraced(function* (storage: StorageService, workspace_id: WorkspaceId) {
  // The version is read first. If the subscriptions change while they are read, this version is already outdated.
  const version = yield* newest(storage, workspace_id)
  const active = yield* activeSubscriptions(storage, workspace_id)
  const recipients: Recipients = {
    subscriptions: active.filter(receives),
    seen: { kind: kind.name, id: workspace_id, version }
  }
  return recipients
})

/** The record that every change to a subscription also writes. It invalidates all caches of the recipients. */
export const nextVersion = (
  storage: StorageService,
  workspace_id: WorkspaceId,
  now: number
): Effect.Effect<Change.StoredRecord, StorageUnavailable> =>
  Effect.map(newest(storage, workspace_id), (version) =>
    kind.record({}, { id: workspace_id, version: version + 1, created_at: now, updated_at: now })
  )

/** Whether a change already raises the version of the recipients. */
export const writesRecipients = ({ writes }: Change.Change): boolean =>
  writes.some((record) => record.kind === kind.name)

/** Whether a conflict means that the recipients have changed. */
export const isRecipientsConflict = (conflict: VersionConflict): boolean => conflict.kind === kind.name

const newest = (storage: StorageService, workspace_id: WorkspaceId) =>
  Effect.map(
    storage.get({ workspace_id, kind: kind.name, id: workspace_id }),
    Option.match({ onNone: () => 0, onSome: ({ version }) => version })
  )
