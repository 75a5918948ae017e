import { BoundedMap, Cell, type Ids, Storage } from "@quotewire/core"
import { Clock, Effect, Option } from "effect"
import * as CellList from "./CellList.ts"
import { chooseCell } from "./choice.ts"

/** How many placements a host caches. A placement says which cell a workspace is in. */
const maxKnown = 100_000

/** Finds and creates placements. Cells are identified by their names. */
export interface Placements {
  /** Finds a workspace's cell; null if it is in no cell because nothing has been written to it yet. */
  readonly find: (workspace_id: Ids.WorkspaceId) => Effect.Effect<string | null, Storage.StorageUnavailable>
  /** Returns a workspace's cell. Assigns a cell to a new workspace. */
  readonly place: (workspace_id: Ids.WorkspaceId) => Effect.Effect<string, Storage.StorageUnavailable>
}

/** What placements need: the first cell, and which cells can be used. */
export interface Options {
  /** The first cell, which stores the placements. */
  readonly home: Storage.Storage["Service"]
  readonly home_name: string
  /** Whether a cell can take a new workspace now. */
  readonly isUsable: (name: string) => boolean
}

/** Creates the functions that read and create placements. A placement never changes, so placements are cached. */
export const make = ({ home, home_name, isUsable }: Options): Placements => {
  const cellNames = new BoundedMap<Ids.WorkspaceId, string>(maxKnown)
  for (const homeWorkspace of [Storage.directoryWorkspace, Cell.cellsWorkspace]) cellNames.set(homeWorkspace, home_name)

  const remember = (workspaceId: Ids.WorkspaceId, name: string): string => {
    cellNames.set(workspaceId, name)
    return name
  }

  const find = (workspaceId: Ids.WorkspaceId): Effect.Effect<string | null, Storage.StorageUnavailable> => {
    const name = cellNames.get(workspaceId)
    if (name !== undefined) return Effect.succeed(name)
    return Effect.map(
      home.get({ workspace_id: Cell.cellsWorkspace, kind: Cell.placementKind.name, id: workspaceId }),
      Option.match({
        onNone: () => null,
        onSome: (record) => remember(workspaceId, Cell.placementKind.value(record).cell)
      })
    )
  }

  /** Chooses the cell of a workspace. A workspace that is older than the cells stays in the first cell. */
  const choose = Effect.fnUntraced(function* (workspace_id: Ids.WorkspaceId) {
    const old = yield* home.get({ workspace_id, kind: "workspace", id: workspace_id })
    if (Option.isSome(old)) return home_name
    const usable = (yield* CellList.read(home)).filter(({ name }) => isUsable(name))
    return chooseCell(usable, workspace_id) ?? home_name
  })

  const placeNew = Effect.fnUntraced(function* (workspace_id: Ids.WorkspaceId) {
    // Another host may have assigned the workspace since it was looked up.
    const cellName = yield* find(workspace_id)
    if (cellName !== null) return cellName
    const cell = yield* choose(workspace_id)
    const now = yield* Clock.currentTimeMillis
    const meta = { id: workspace_id, version: 1, created_at: now, updated_at: now }
    yield* CellList.write(home, Cell.placementKind.record({ workspace_id, cell }, meta))
    return remember(workspace_id, cell)
  })

  const place = (workspaceId: Ids.WorkspaceId) =>
    Effect.flatMap(find(workspaceId), (cellName) =>
      cellName === null ? Storage.retryOnConflict(placeNew(workspaceId)) : Effect.succeed(cellName)
    )

  return { find, place }
}
