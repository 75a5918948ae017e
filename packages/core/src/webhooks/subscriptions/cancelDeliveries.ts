import { Effect } from "effect"
import * as Change from "../../storage/Change.ts"
import type { RecordPage, RecordQuery } from "../../storage/Page.ts"
import { commit, retryOnConflict, type Storage } from "../../storage/Storage.ts"
import type { SubscriptionId, WorkspaceId } from "../../wire/Ids.ts"
import * as Delivery from "../records/Delivery.ts"

const batch = 100

/** A subscription and its workspace. */
interface SubscriptionPlace {
  readonly workspace_id: WorkspaceId
  readonly subscription_id: SubscriptionId
}

/**
 * Cancels a subscription's open deliveries, in batches. With `created_before`, cancels only deliveries created before
 * that time. Times are milliseconds of workspace time.
 */
export const cancelOpenDeliveries = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  { subscription_id, workspace_id }: SubscriptionPlace,
  now: number,
  created_before?: number
) {
  let after: string | null = null
  do {
    const page: RecordPage = yield* retryOnConflict(
      cancelPage(
        storage,
        {
          workspace_id,
          kind: Delivery.kind.name,
          parent: subscription_id,
          status: "open",
          order: "oldest",
          after,
          limit: batch,
          ...(created_before !== undefined && { created_before })
        },
        now
      )
    )
    after = page.next
  } while (after !== null)
})

/**
 * Cancels the deliveries on a page. If an attempt has written one of the deliveries first, this conflicts, and the page
 * must be read again.
 */
const cancelPage = Effect.fnUntraced(function* (storage: Storage["Service"], query: RecordQuery, now: number) {
  const page = yield* storage.page(query)
  if (page.records.length === 0) return page
  const writes = page.records.map((record) => Delivery.toStored(Delivery.cancelled(Delivery.kind.value(record)), now))
  yield* commit(storage, Change.make(query.workspace_id, { writes }))
  return page
})
