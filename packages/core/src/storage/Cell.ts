import { Schema } from "effect"
import { WorkspaceId } from "../wire/Ids.ts"
import * as Kind from "./Kind.ts"

/*
 * The records about cells. A storage backend can spread its workspaces over several databases, called cells. Each
 * workspace is in one cell.
 */

/**
 * The workspace that contains the records about cells, in every cell. It contains nothing else, and
 * `Storage.workspaces` does not list it.
 */
export const cellsWorkspace: WorkspaceId = WorkspaceId.make(`wks_${"z".repeat(26)}`)

/** The name of a cell: at most 40 lower-case letters, digits and hyphens. */
export const CellName = Schema.String.check(
  Schema.isPattern(/^[a-z0-9][a-z0-9-]{0,39}$/, { expected: "lower-case letters, digits and hyphens, at most 40" })
)
export type CellName = typeof CellName.Type

/** A cell to which new workspaces are assigned, or were assigned in the past. */
export const Cell = Schema.Struct({
  name: CellName,
  /**
   * The cell's weight when new workspaces are assigned: a cell with weight 2 gets twice as many workspaces as a cell
   * with weight 1, and a cell with weight 0 gets none.
   */
  room: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000 }))
})
export type Cell = typeof Cell.Type

/** The record kind for cells, keyed by name. The records are in the first cell. */
export const kind = Kind.make({ name: "cell", schema: Cell, survives_reset: true })

/**
 * Identifies a database as one cell of a map. A map is the set of cells that together act as one storage backend.
 */
export const Mark = Schema.Struct({
  name: CellName,
  /** The name of the first cell, which contains the list of all cells. */
  first: CellName,
  /** The ID of the map. All cells of a map have the same ID, which no other map has. */
  map: Schema.String
})
export type Mark = typeof Mark.Type

/**
 * The record kind for marks. Each cell contains its own mark, which shows when a database URL points to the wrong cell.
 */
export const markKind = Kind.make({ name: "cell_mark", schema: Mark, survives_reset: true })

/** The ID of a cell's only mark. */
export const markId = "this"

/** The cell that a workspace lives in. */
export const Placement = Schema.Struct({ workspace_id: WorkspaceId, cell: CellName })
export type Placement = typeof Placement.Type

/**
 * The record kind for placements. The records are in the first cell, one for each workspace, keyed by workspace ID. A
 * placement never changes.
 */
export const placementKind = Kind.make({
  name: "placement",
  schema: Placement,
  survives_reset: true,
  listing: ({ cell }) => ({ status: cell })
})
