import { Effect } from "effect"
import type { Workspaces } from "../access/Workspaces.ts"
import * as Change from "../storage/Change.ts"
import { commit, directoryWorkspace, endOfFeed, type Storage, type StorageUnavailable } from "../storage/Storage.ts"
import type { WorkspaceId } from "../wire/Ids.ts"
import type { ConsumeSettings } from "./ConsumeOptions.ts"
import * as Consumer from "./Consumer.ts"
import { loadConsumer, loadStart } from "./ConsumerStore.ts"
import { eachWorkspacePage } from "./eachWorkspacePage.ts"

type StorageService = Storage["Service"]

/** Stores a record, unless another process has already stored it. */
const storeUnlessThere = (
  storage: StorageService,
  workspaceId: WorkspaceId,
  record: Change.StoredRecord
): Effect.Effect<void, StorageUnavailable> =>
  Effect.catchTag(commit(storage, Change.make(workspaceId, { writes: [record] })), "VersionConflict", () => Effect.void)

const storeStart = (storage: StorageService, name: string, version: number, start: Consumer.ConsumerStart) => {
  const times = { created_at: start.started_at, updated_at: start.started_at }
  return storeUnlessThere(
    storage,
    directoryWorkspace,
    Consumer.startKind.record(start, { id: name, version, ...times })
  )
}

/** Sets a consumer's position to the end of a feed, unless the consumer already has a position there. */
const startAtEnd = Effect.fnUntraced(function* (
  storage: StorageService,
  workspaces: Workspaces["Service"],
  { name, started_at }: { readonly name: string; readonly started_at: number },
  id: WorkspaceId
) {
  const { workspace } = yield* workspaces.moment(id)
  if (workspace.created_at > started_at) return
  if ((yield* loadConsumer(storage, id, name)) !== null) return
  const consumer = Consumer.create(name, started_at, yield* endOfFeed(storage, id), workspace.erased_count)
  yield* storeUnlessThere(storage, id, Consumer.toStored({ ...consumer, version: 1 }, started_at))
})

/**
 * Gives a consumer with a new name its position in every feed. Returns when the name was first used, in milliseconds of
 * real time.
 *
 * If a process dies halfway, the next process continues with the same time, so that no workspace that was created in
 * the meantime is skipped.
 */
export const storeStartPositions = Effect.fnUntraced(function* (
  storage: StorageService,
  workspaces: Workspaces["Service"],
  { name, from }: ConsumeSettings,
  now: number
) {
  const is_complete = from === "oldest"
  if ((yield* loadStart(storage, name)) === null) yield* storeStart(storage, name, 1, { started_at: now, is_complete })
  const start = yield* loadStart(storage, name)
  if (start === null) return yield* Effect.die(new Error(`The start position of the consumer ${name} was not stored`))
  const { started_at, version } = start
  if (start.is_complete) return started_at
  yield* eachWorkspacePage(storage, (page) =>
    Effect.forEach(page, (id) => startAtEnd(storage, workspaces, { name, started_at }, id), {
      concurrency: 8,
      discard: true
    })
  )
  yield* storeStart(storage, name, version + 1, { started_at, is_complete: true })
  return started_at
})
