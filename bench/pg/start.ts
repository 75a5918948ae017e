import { Change, Ids, Storage } from "@quotewire/core"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect, Layer } from "effect"
import * as Service from "../Service.ts"
import * as starts from "../starts.ts"

/** Storage in memory that keeps the changes committed to it. */
const keeping = (kept: Array<Change.Change>): Layer.Layer<Storage.Storage> =>
  Layer.effect(
    Storage.Storage,
    Effect.map(Storage.Storage, (storage) => ({
      ...storage,
      commit: (change: Change.Change) => Effect.tap(storage.commit(change), () => Effect.sync(() => kept.push(change)))
    }))
  ).pipe(Layer.provide(MemoryStorage.layer))

/**
 * The change that the core commits when the household of two drivers and two cars starts a request, as plain data with
 * all of its texts.
 */
export const sample: Effect.Effect<Change.Change> = Effect.suspend(() => {
  const kept: Array<Change.Change> = []
  const starting = Effect.gen(function* () {
    const key = yield* Service.makeKey
    yield* Service.call(Service.startQuoteRequest, key, starts.household("request-000000000000"))
  })
  return Effect.flatMap(Effect.provide(starting, Service.layerOn(keeping(kept))), () => {
    const change = kept.find(({ jobs }) => jobs.length > 0)
    return change === undefined
      ? Effect.die(new Error("A start has committed nothing"))
      : Effect.succeed({ ...change, writes: change.writes.map(Change.record) })
  })
})

/** How many characters at the end of an identifier hold the number of a copy. */
export const counted = 12

/** The identifier of copy n. */
const idOf = (id: string, n: number): string => id.slice(0, -counted) + String(n).padStart(counted, "0")

/** The id of workspace n, which changes are written to. */
export const workspaceOf = (n: number): Ids.WorkspaceId => Ids.WorkspaceId.make(`wks_${String(n).padStart(26, "0")}`)

/**
 * Copy n of a change, in one of the workspaces. Its jobs are not ordered, as in a live workspace, and are due at the
 * same time.
 */
export const again = (sample: Change.Change, workspace: number, n: number): Change.Change => ({
  ...sample,
  workspace_id: workspaceOf(workspace),
  writes: sample.writes.map((record) => ({ ...record, id: idOf(record.id, n) })),
  // Copies check the expectations of a start too.
  expects: sample.expects.map(({ kind }) => ({ kind, id: workspaceOf(workspace), version: 0 })),
  events: sample.events.map((event) => ({ ...event, id: idOf(event.id, n) })),
  jobs: sample.jobs.map((job) => ({ ...job, ordered: false }))
})
