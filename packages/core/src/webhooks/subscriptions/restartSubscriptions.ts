import { Effect } from "effect"
import * as Change from "../../storage/Change.ts"
import { commit, eachPage, readOne, type Storage } from "../../storage/Storage.ts"
import type { WorkspaceId } from "../../wire/Ids.ts"
import { restarted } from "../records/EventSubscription.ts"
import * as StoredSubscription from "../records/StoredSubscription.ts"

type StorageService = Storage["Service"]

/**
 * Restarts a sandbox's subscriptions after a reset has erased their deliveries.
 *
 * Each change has the same expectations as the reset, so a slow process cannot restart subscriptions after another
 * process has finished the reset.
 */
export const restartSubscriptions = Effect.fnUntraced(function* (
  storage: StorageService,
  workspace_id: WorkspaceId,
  now: number,
  expects: ReadonlyArray<Change.Expectation>
) {
  const restart = Effect.fnUntraced(function* (id: string) {
    const subscription = yield* readOne(storage, StoredSubscription.kind, workspace_id, id)
    if (subscription === null) return
    const writes = [StoredSubscription.toStored(restarted(subscription, now))]
    yield* commit(storage, Change.make(workspace_id, { writes, expects }))
  })
  for (const status of ["active", "unfinished"] as const) {
    yield* eachPage(
      storage,
      { workspace_id, kind: StoredSubscription.kind.name, status, order: "oldest", limit: 100 },
      (page) => Effect.forEach(page, ({ id }) => restart(id), { discard: true })
    )
  }
})
