import type { Ids, Storage } from "@quotewire/core"
import { Effect } from "effect"
import type { CellState } from "./CellState.ts"

type Port = Storage.Storage["Service"]

/** The first cell, and a function that finds the other cells. */
export interface Options {
  /** The first cell. */
  readonly home: Port
  readonly home_name: string
  /** Finds a workspace's cell; undefined if the cell is not in the settings. */
  readonly cellOf: (workspace_id: Ids.WorkspaceId) => Effect.Effect<CellState | undefined, Storage.StorageUnavailable>
}

/**
 * Creates `addCounts` for all cells. It adds each count in the cell of the count's workspace, so that the first cell is
 * not a bottleneck.
 *
 * While a cell is unavailable, its counts are added in the first cell. The limits of its workspaces are then less
 * exact, but no call for another cell fails.
 */
export const make =
  ({ cellOf, home, home_name }: Options): Port["addCounts"] =>
  (now, additions) =>
    Effect.gen(function* () {
      const cells = yield* Effect.forEach(additions, ({ workspace_id }) => cellOf(workspace_id), {
        concurrency: "unbounded"
      })
      const totals = new Map<Storage.CountAddition, number>()
      const addIn = Effect.fnUntraced(function* (storage: Port, cellAdditions: ReadonlyArray<Storage.CountAddition>) {
        const added = yield* storage.addCounts(now, cellAdditions)
        for (const [index, total] of added.entries()) {
          const addition = cellAdditions[index]
          if (addition !== undefined) totals.set(addition, total)
        }
      })
      const byCell = Map.groupBy(additions.entries(), ([index]) => cells[index])
      yield* Effect.forEach(
        byCell,
        ([cell, entries]) => {
          const cellAdditions = entries.map(([, addition]) => addition)
          const storage = cell === undefined || cell.isUnavailable || cell.name === home_name ? null : cell.storage
          if (storage === null) return addIn(home, cellAdditions)
          return Effect.catchTag(addIn(storage, cellAdditions), "StorageUnavailable", () => addIn(home, cellAdditions))
        },
        { concurrency: "unbounded", discard: true }
      )
      return additions.map((addition) => totals.get(addition) ?? 0)
    })
