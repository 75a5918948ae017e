import { Schema } from "effect"
import { WorkspaceId } from "../wire/Ids.ts"
import * as Kind from "./Kind.ts"

/*
 * The records of a storage that consists of several storages, which are called its cells. Each workspace lives in one
 * cell.
 */

/**
 * The workspace that contains these records, in every cell. It contains nothing else, and `Storage.workspaces` does not
 * list it.
 */
export const cellsWorkspace: WorkspaceId = WorkspaceId.make(`wks_${"z".repeat(26)}`)

/** The name of a cell: lower-case letters, digits and hyphens, at most 40. */
export const CellName = Schema.String.check(
  Schema.isPattern(/^[a-z0-9][a-z0-9-]{0,39}$/, { expected: "lower-case letters, digits and hyphens, at most 40" })
)
export type CellName = typeof CellName.Type

/** A cell that takes new workspaces, or has taken some in the past. */
export const Cell = Schema.Struct({
  name: CellName,
  /**
   * The cell's share of new workspaces: a cell with 2 gets twice as many as a cell with 1, and a cell with 0 gets none.
   */
  room: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000 }))
})
export type Cell = typeof Cell.Type

/** The list of cells, in the first cell, by name. */
export const kind = Kind.make({ name: "cell", schema: Cell, survives_reset: true })

/** Which cell of which map of cells a storage is. */
export const Mark = Schema.Struct({
  name: CellName,
  /** The name of the first cell, which contains the list of all cells. */
  first: CellName,
  /** The ID of the map: all of its cells have the same ID, and no other cells have it. */
  map: Schema.String
})
export type Mark = typeof Mark.Type

/** Each cell's own mark, stored in the cell itself, so that a URL that leads to the wrong cell is noticed. */
export const markKind = Kind.make({ name: "cell_mark", schema: Mark, survives_reset: true })

/** The id of a mark. */
export const markId = "this"

/** The cell that a workspace lives in. */
export const Placement = Schema.Struct({ workspace_id: WorkspaceId, cell: CellName })
export type Placement = typeof Placement.Type

/**
 * The placements: one record for each workspace, by its ID, in the first cell. Each is written once and never changes.
 */
export const placementKind = Kind.make({
  name: "placement",
  schema: Placement,
  survives_reset: true,
  listing: ({ cell }) => ({ status: cell })
})
