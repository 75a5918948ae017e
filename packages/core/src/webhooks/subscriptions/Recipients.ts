import { Effect, Option, Schema } from "effect"
import type * as Change from "../../storage/Change.ts"
import * as Kind from "../../storage/Kind.ts"
import type { Storage, StorageUnavailable, VersionConflict } from "../../storage/Storage.ts"
import type { WorkspaceId } from "../../wire/Ids.ts"
import { type KeptSubscription, receives } from "./EventSubscription.ts"
import { activeSubscriptions } from "./SubscriptionStore.ts"

type StorageService = Storage["Service"]

/** The subscriptions that receive the events of a workspace, as they were seen. */
export interface Recipients {
  readonly subscriptions: ReadonlyArray<KeptSubscription>
  /** What a change rests on that was made for these. */
  readonly seen: Change.Seen
}

/** Who receives events, and when it changes: a record of which nothing is kept but its version. */
export const kind = Kind.make({ name: "recipients", schema: Schema.Struct({}), survives_reset: true })

/** The subscriptions of a workspace that receive events now. */
export const load = Effect.fnUntraced(function* (storage: StorageService, workspace_id: WorkspaceId) {
  // The version first: what changes while the subscriptions are read, they are not taken for.
  const version = yield* newest(storage, workspace_id)
  const active = yield* activeSubscriptions(storage, workspace_id)
  const receivers: Recipients = {
    subscriptions: active.filter(receives),
    seen: { kind: kind.name, id: workspace_id, version }
  }
  return receivers
})

/** What a change writes beside a subscription: from then on nobody's receivers are as they were seen before. */
export const changed = (
  storage: StorageService,
  workspace_id: WorkspaceId,
  at: number
): Effect.Effect<Change.StoredRecord, StorageUnavailable> =>
  Effect.map(newest(storage, workspace_id), (version) =>
    kind.record({}, { id: workspace_id, version: version + 1, created_at: at, updated_at: at })
  )

/** Whether a change says itself that the receivers are others than before. */
export const isToldBy = ({ writes }: Change.Change): boolean => writes.some((record) => record.kind === kind.name)

/** Whether somebody has changed the receivers. */
export const haveChanged = (conflict: VersionConflict): boolean => conflict.kind === kind.name

const newest = (storage: StorageService, workspace_id: WorkspaceId) =>
  Effect.map(
    storage.get({ workspace_id, kind: kind.name, id: workspace_id }),
    Option.match({ onNone: () => 0, onSome: ({ version }) => version })
  )
