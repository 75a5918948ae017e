import { Change, Ids, Storage } from "@quotewire/core"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect, Layer } from "effect"
import * as Service from "../Service.ts"
import * as starts from "../starts.ts"

/** Storage in memory that also adds every committed change to a list. */
const keeping = (changes: Array<Change.Change>): Layer.Layer<Storage.Storage> =>
  Layer.effect(
    Storage.Storage,
    Effect.map(Storage.Storage, (storage) => ({
      ...storage,
      commit: (change: Change.Change) =>
        Effect.tap(storage.commit(change), () => Effect.sync(() => changes.push(change)))
    }))
  ).pipe(Layer.provide(MemoryStorage.layer))

/**
 * The change that the core commits when a request starts for the household of two drivers and two cars. It is plain
 * data, including the texts of its records.
 */
export const sample: Effect.Effect<Change.Change> = Effect.suspend(() => {
  const changes: Array<Change.Change> = []
  const starting = Effect.gen(function* () {
    const key = yield* Service.makeKey
    yield* Service.call(Service.startQuoteRequest, key, starts.household("request-000000000000"))
  })
  return Effect.flatMap(Effect.provide(starting, Service.layerOn(keeping(changes))), () => {
    const change = changes.find(({ jobs }) => jobs.length > 0)
    return change === undefined
      ? Effect.die(new Error("A start call has committed nothing"))
      : Effect.succeed({ ...change, writes: change.writes.map(Change.record) })
  })
})

/** How many characters at the end of an ID hold the number of a copy. */
export const counted = 12

/** The ID of copy `n`. */
const idOf = (id: string, n: number): string => id.slice(0, -counted) + String(n).padStart(counted, "0")

/** The ID of workspace `n`. Changes are written to these workspaces. */
export const workspaceOf = (n: number): Ids.WorkspaceId => Ids.WorkspaceId.make(`wks_${String(n).padStart(26, "0")}`)

/**
 * Copy `n` of a change, in one of the workspaces. Its jobs are not ordered, because live workspaces have no ordered
 * jobs.
 */
export const renumbered = (sample: Change.Change, workspace: number, n: number): Change.Change => ({
  ...sample,
  workspace_id: workspaceOf(workspace),
  writes: sample.writes.map((record) => ({ ...record, id: idOf(record.id, n) })),
  // Copies expect the same record versions as a real change of this kind, so the storage does the same checks.
  expects: sample.expects.map(({ kind }) => ({ kind, id: workspaceOf(workspace), version: 0 })),
  events: sample.events.map((event) => ({ ...event, id: idOf(event.id, n) })),
  jobs: sample.jobs.map((job) => ({ ...job, ordered: false }))
})
