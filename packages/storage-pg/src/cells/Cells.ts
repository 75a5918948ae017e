import { Cell, type Ids, type Job, Storage } from "@quotewire/core"
import { Effect, type Scope } from "effect"
import * as CellSet from "./CellSet.ts"
import { type CellSource, type CellState, unavailable, type WrongCell } from "./CellState.ts"
import * as Claims from "./Claims.ts"
import * as Counts from "./Counts.ts"
import * as Placements from "./Placements.ts"

type Port = Storage.Storage["Service"]

/**
 * Combines several storage backends, called cells, into one. Every workspace lives in one cell.
 *
 * The first cell also stores the organizations, the keys and the list of which cell each workspace is in, so nothing
 * works without it. If another cell is unavailable, only calls for its workspaces fail. `workspaces` needs all cells.
 *
 * Jobs are claimed only from the cells in `workCells`; by default, from all cells.
 */
export const make = <E>(
  sources: readonly [CellSource<E>, ...Array<CellSource<E>>],
  workCells: ReadonlyArray<string> = sources.map(({ name }) => name)
): Effect.Effect<Port, E | WrongCell | Storage.StorageUnavailable, Scope.Scope> =>
  Effect.gen(function* () {
    const set = yield* CellSet.open(sources)
    const { cells, home, watch } = set
    const home_name = sources[0].name
    const { cellOf, newPlaceOf, placeOf } = makeLookup(set, home_name)
    const claimAnywhere = Claims.make(cells.filter(({ name }) => workCells.includes(name)))
    const claimIn = claiming(cellOf)
    return Storage.Storage.of({
      commit: (change) => {
        const foreign = change.finishes.find((lease) => lease.workspace_id !== change.workspace_id)
        if (foreign !== undefined) return Effect.fail(new Storage.LeaseLost({ lease: foreign }))
        return Effect.flatMap(newPlaceOf(change.workspace_id), (storage) => storage.commit(change))
      },
      get: (key) => Effect.flatMap(placeOf(key.workspace_id), (storage) => storage.get(key)),
      page: (query) => Effect.flatMap(placeOf(query.workspace_id), (storage) => storage.page(query)),
      feed: (query) => Effect.flatMap(placeOf(query.workspace_id), (storage) => storage.feed(query)),
      claim: (query) => (query.workspace_id === undefined ? claimAnywhere(query) : claimIn(query.workspace_id, query)),
      lane: (query) => Effect.flatMap(placeOf(query.workspace_id), (storage) => storage.lane(query)),
      backlog: (query) =>
        Effect.map(
          Effect.forEach(cells, (cell) => backlogIn(cell, query), { concurrency: "unbounded" }),
          (lists) => sumOf(lists.flat())
        ),
      processes: Effect.suspend(() => home.processes ?? Effect.succeed([])),
      release: releasing(cellOf),
      erase: (erasure) => Effect.flatMap(placeOf(erasure.workspace_id), (storage) => storage.erase(erasure)),
      rewrite: (workspaceId, rewrites) =>
        Effect.flatMap(placeOf(workspaceId), (storage) => storage.rewrite(workspaceId, rewrites)),
      addCounts: Counts.make({ cellOf, home, home_name }),
      watch,
      workspaces: (after, limit) =>
        Effect.map(
          Effect.forEach(
            cells,
            (cell) => Effect.flatMap(CellSet.storageOf(cell), (storage) => storage.workspaces(after, limit)),
            { concurrency: "unbounded" }
          ),
          (lists) => firstOf(lists.flat(), limit)
        ),
      ready: home.ready,
      cells: cells.map(storageCellOf)
    })
  })

type CellOf = Counts.Options["cellOf"]
type PlaceOf = (workspace_id: Ids.WorkspaceId) => Effect.Effect<Port, Storage.StorageUnavailable>

/** Finds the cells of workspaces. */
interface Lookup {
  /**
   * The cell from which to read a workspace. A workspace that is in no cell is empty, so it can be read from the first
   * cell.
   */
  readonly cellOf: CellOf
  /** The storage from which to read a workspace: the storage of the cell that `cellOf` finds. */
  readonly placeOf: PlaceOf
  /** The storage to which a workspace is written. A workspace that is in no cell is assigned to one. */
  readonly newPlaceOf: PlaceOf
}

const makeLookup = ({ byName, home }: CellSet.CellSet, home_name: string): Lookup => {
  const placements = Placements.make({
    home,
    home_name,
    isUsable: (name) => {
      const cell = byName(name)
      return cell !== undefined && cell.storage !== null && !cell.isUnavailable
    }
  })
  const reported = new Set<string>()
  const cellNamed = (name: string) =>
    Effect.suspend(() => {
      const cell = byName(name)
      if (cell !== undefined || reported.has(name)) return Effect.succeed(cell)
      reported.add(name)
      return Effect.logError("A cell is missing from the settings; its workspaces are unavailable").pipe(
        Effect.annotateLogs({ cell: name }),
        Effect.as(cell)
      )
    })
  const cellOf: CellOf = (workspaceId) =>
    Effect.flatMap(placements.find(workspaceId), (name) => cellNamed(name ?? home_name))
  return {
    cellOf,
    placeOf: (workspaceId) => Effect.flatMap(cellOf(workspaceId), CellSet.storageOf),
    newPlaceOf: (workspaceId) =>
      placements.place(workspaceId).pipe(Effect.flatMap(cellNamed), Effect.flatMap(CellSet.storageOf))
  }
}

/** Creates the function that claims one workspace's jobs. */
const claiming = (cellOf: CellOf) =>
  Effect.fnUntraced(function* (workspaceId: Ids.WorkspaceId, query: Storage.ClaimQuery) {
    const cell = yield* cellOf(workspaceId)
    const claimed = yield* Effect.flatMap(CellSet.storageOf(cell), (storage) => storage.claim(query))
    // Claims over all workspaces do not know when these leases end, so they must ask this cell again.
    if (cell !== undefined) cell.isHinted = true
    return claimed
  })

/** Creates the function that releases leases in the cells of their workspaces. */
const releasing = (cellOf: CellOf): Port["release"] => {
  const releaseIn = Effect.fnUntraced(function* (workspaceId: Ids.WorkspaceId, leases: ReadonlyArray<Job.Lease>) {
    const cell = yield* cellOf(workspaceId)
    if (cell !== undefined) cell.isHinted = true
    yield* Effect.flatMap(CellSet.storageOf(cell), (storage) => storage.release(leases))
  })
  return Effect.fnUntraced(function* (leases: ReadonlyArray<Job.Lease>) {
    const byWorkspace = Map.groupBy(leases, ({ workspace_id }) => workspace_id)
    const exits = yield* Effect.forEach(
      byWorkspace,
      ([workspace_id, workspaceLeases]) => Effect.exit(releaseIn(workspace_id, workspaceLeases)),
      {
        concurrency: "unbounded"
      }
    )
    // Fails, if at all, only after every cell was tried.
    yield* Effect.forEach(exits, (exit) => exit, { discard: true })
  })
}

/** Reads one cell's due jobs; empty if the cell cannot be asked. `cells` reports such a cell. */
const backlogIn = (cell: CellState, query: Storage.BacklogQuery) =>
  CellSet.storageOf(cell).pipe(
    Effect.flatMap(({ backlog }) => (backlog === undefined ? Effect.succeed([]) : backlog(query))),
    Effect.catchTag("StorageUnavailable", () => Effect.succeed<ReadonlyArray<Storage.Backlog>>([])),
    // A report must not fail because of one cell, for example if its database refuses the statement.
    Effect.catchDefect((defect) =>
      Effect.logWarning("A cell could not count its due jobs", defect).pipe(
        Effect.annotateLogs({ cell: cell.name }),
        Effect.as<ReadonlyArray<Storage.Backlog>>([])
      )
    )
  )

const sumOf = (backlogs: ReadonlyArray<Storage.Backlog>): ReadonlyArray<Storage.Backlog> =>
  [...Map.groupBy(backlogs, ({ kind }) => kind)]
    .map(([kind, ofKind]) => ({
      kind,
      due: ofKind.reduce((sum, { due }) => sum + due, 0),
      oldest_due_at: Math.min(...ofKind.map(({ oldest_due_at }) => oldest_due_at))
    }))
    .sort((a, b) => (a.kind < b.kind ? -1 : 1))

/** Converts a cell to what `Storage.cells` returns. */
const storageCellOf = (cell: CellState): Storage.StorageCell => ({
  name: cell.name,
  ready: Effect.flatMap(CellSet.storageOf(cell), ({ ready }) => (cell.isUnavailable ? unavailable : ready)),
  moving: Effect.flatMap(CellSet.storageOf(cell), ({ moving }) => moving ?? Effect.succeed(false)),
  workspaces: (after, limit) =>
    Effect.flatMap(CellSet.storageOf(cell), (storage) => storage.workspaces(after, limit)).pipe(
      Effect.map((ids) => firstOf(ids, limit))
    )
})

/**
 * The first of these workspaces, sorted and without duplicates. The workspace that stores the list of cells is left
 * out.
 */
const firstOf = (ids: ReadonlyArray<Ids.WorkspaceId>, limit: number): ReadonlyArray<Ids.WorkspaceId> =>
  [...new Set(ids)]
    .filter((id) => id !== Cell.cellsWorkspace)
    .sort()
    .slice(0, limit)
