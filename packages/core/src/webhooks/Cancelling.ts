import { Effect, Option } from "effect"
import type { SubscriptionId, WorkspaceId } from "../Ids.ts"
import * as Change from "../storage/Change.ts"
import type { Storage, StorageUnavailable } from "../storage/Storage.ts"
import * as Delivery from "./Delivery.ts"

const batch = 100

/**
 * Cancels the open deliveries of a subscription, in batches; those that were handed over later are left where
 * `created_before` says so. Times are milliseconds of workspace time.
 */
export const cancelOpen = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  workspace_id: WorkspaceId,
  subscription_id: SubscriptionId,
  at: number,
  created_before?: number
) {
  let after: string | null = null
  do {
    const page: { readonly records: ReadonlyArray<Change.StoredRecord>; readonly next: string | null } =
      yield* storage.page({
        workspace_id,
        kind: "delivery",
        parent: subscription_id,
        status: "open",
        order: "oldest",
        after,
        limit: batch,
        ...(created_before !== undefined && { created_before })
      })
    yield* Effect.forEach(page.records, (record) => cancel(storage, workspace_id, record, at), { discard: true })
    after = page.next
  } while (after !== null)
})

/** Cancels one; an attempt that was faster has changed it, so it is looked at again. */
const cancel = (
  storage: Storage["Service"],
  workspace_id: WorkspaceId,
  record: Change.StoredRecord,
  at: number
): Effect.Effect<void, StorageUnavailable> => {
  const writes = [Delivery.toStored(Delivery.cancelled(Delivery.fromStored(record)), at)]
  return storage.commit(Change.make(workspace_id, { writes })).pipe(
    Effect.catchTag("LeaseLost", (lost) => Effect.die(lost)),
    Effect.catchTag("VersionConflict", () =>
      Effect.flatMap(storage.get({ workspace_id, kind: "delivery", id: record.id }), (newest) =>
        Option.isSome(newest) && newest.value.status === "open"
          ? cancel(storage, workspace_id, newest.value, at)
          : Effect.void
      )
    )
  )
}
