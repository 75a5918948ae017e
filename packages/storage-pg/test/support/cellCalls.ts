import { Cell, Change, type Job, Storage } from "@quotewire/core"
import { type Array, Effect } from "effect"
import type { NamedStorage } from "../../src/cells/CellState.ts"
import { type Port, workspace } from "./hosts.ts"

/** Cells that are open. */
export type All = Array.NonEmptyReadonlyArray<NamedStorage>

export const job = (due_at: number): Job.NewJob => ({ kind: "collect", due_at, ordered: false, payload: "{}" })
export const work = (place: number, dueAt: number) => Change.make(workspace(place), { jobs: [job(dueAt)] })

/** The workspaces with data in each cell, without the service's own. */
export const contents = (cells: All) =>
  Effect.forEach(cells, ({ storage }) =>
    Effect.map(storage.workspaces(null, 1_000), (ids) => ids.filter((id) => id !== Cell.cellsWorkspace))
  )

/** The number of a workspace that is placed in a cell. */
export const placedIn = Effect.fnUntraced(function* (storage: Port, { storage: cell }: NamedStorage) {
  for (let place = 1; place < 200; place++) {
    yield* storage.commit(work(place, 1_000_000))
    if ((yield* cell.workspaces(null, 1_000)).includes(workspace(place))) return place
  }
  return yield* Effect.die(new Error("no workspace was placed in the cell"))
})

export const lost = Effect.fail(new Storage.StorageUnavailable({ retry_after_seconds: 1 }))

/** A storage backend that can become unavailable, and then fails every call immediately. */
export const losable = (storage: Port) => {
  let isLost = false
  const unlessLost =
    <A extends ReadonlyArray<unknown>, B, E>(call: (...args: A) => Effect.Effect<B, E>) =>
    (...args: A): Effect.Effect<B, E | Storage.StorageUnavailable> =>
      Effect.suspend((): Effect.Effect<B, E | Storage.StorageUnavailable> => (isLost ? lost : call(...args)))
  const port: Port = {
    commit: unlessLost(storage.commit),
    get: unlessLost(storage.get),
    page: unlessLost(storage.page),
    feed: unlessLost(storage.feed),
    claim: unlessLost(storage.claim),
    lane: unlessLost(storage.lane),
    release: unlessLost(storage.release),
    erase: unlessLost(storage.erase),
    rewrite: unlessLost(storage.rewrite),
    addCounts: unlessLost(storage.addCounts),
    watch: storage.watch,
    workspaces: unlessLost(storage.workspaces),
    ready: unlessLost(() => storage.ready)()
  }
  return {
    port,
    set: (next: boolean) => {
      isLost = next
    }
  }
}

export const claimAt = (now: number, limit = 100): Storage.ClaimQuery => ({ now, lease_ms: 1_000, limit })
export const claimed = (storage: Port, now: number, limit?: number) =>
  Effect.map(storage.claim(claimAt(now, limit)), ({ jobs }) => jobs.map(({ workspace_id }) => workspace_id))
