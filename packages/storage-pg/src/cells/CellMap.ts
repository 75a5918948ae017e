import { Cell } from "@quotewire/core"
import { type Array, Effect, Schema } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { DatabaseRefused } from "../connection/DatabaseRefused.ts"
import { type RunStatement, using } from "../connection/Session.ts"
import { isWithoutTables } from "../connection/StatementRefused.ts"
import * as LivePlace from "../places/LivePlace.ts"
import { rowsReader } from "../rows/Columns.ts"
import { query } from "../sql/files.ts"

/*
 * Compares the cells in the settings with the marks in their databases. Every database is marked with its cell's name,
 * the first cell's name and the map's ID. A map is the set of cells that belong together. The first cell also stores
 * the list of all cells.
 */

/** What a database records about cells. */
export interface CellRecords {
  /** Which cell the database is; null if it is not a cell. */
  readonly mark: Cell.Mark | null
  /** The cell names in the list of cells. Only the first cell has this list. */
  readonly listed: ReadonlyArray<string>
}

/** A cell in the settings. `found` is null if the cell's database does not respond. */
export interface NamedRecords {
  readonly name: string
  readonly found: CellRecords | null
}

/**
 * Explains why the settings name the wrong cell first; null if they name the right cell, or if that cell has not been
 * added yet.
 */
export const refusalOfFirst = ({ name, found }: NamedRecords): string | null => {
  const mark = found?.mark ?? null
  if (mark === null || mark.first === mark.name) return null
  return `The settings list the cell ${name} first, but the first cell is ${mark.first}: list ${mark.first} first.`
}

/**
 * Explains why a database is not the cell that the settings name, or belongs to a different map than the first cell;
 * null if it is the right database.
 */
export const refusalOf = ({ name, found }: NamedRecords, firstCell: NamedRecords): string | null => {
  const mark = found?.mark ?? null
  if (mark === null) {
    // A cell is marked before it is added to the list of cells, so a listed cell without a mark has lost its data.
    const isLost = found !== null && firstCell.found?.listed.includes(name) === true
    return isLost
      ? `The cell ${name} was added before, but the database at its url is not that cell: correct the url, or restore the database from a backup.`
      : null
  }
  if (mark.name !== name) {
    return `The url of the cell ${name} in the settings is the database of the cell ${mark.name}: correct the url.`
  }
  if (name === firstCell.name || firstCell.found === null) return null
  if (firstCell.found.mark === null) {
    return `The cell ${name} belongs to an installation whose first cell is ${mark.first}, but the first cell in the settings, ${firstCell.name}, is not a cell of any installation: check its url.`
  }
  if (mark.map === firstCell.found.mark.map) return null
  return `The databases of the cells ${firstCell.name} and ${name} belong to different installations: check their addresses.`
}

/** Lists the added cells that are missing from the settings; null if no cell is missing. */
const lacking = (cells: ReadonlyArray<NamedRecords>, firstCell: NamedRecords): string | null => {
  const missingNames = (firstCell.found?.listed ?? []).filter((name) => !cells.some((cell) => cell.name === name))
  return missingNames.length === 0
    ? null
    : `The settings must list every cell that was added. Missing: ${missingNames.join(", ")}.`
}

/** Explains how the settings differ from the databases that respond; null if they match. */
export const mismatch = (cells: Array.NonEmptyReadonlyArray<NamedRecords>): string | null => {
  const [first] = cells
  const firstRefusal = cells.map((cell) => refusalOf(cell, first)).find((refusal) => refusal !== null)
  return firstRefusal ?? refusalOfFirst(first) ?? lacking(cells, first)
}

const cellRecords = query("cell_records")
const readRows = rowsReader(Schema.Struct({ kind: Schema.String, body: Schema.String }))
const readMark = Schema.decodeUnknownSync(Schema.fromJsonString(Cell.Mark))
const readCell = Schema.decodeUnknownSync(Schema.fromJsonString(Cell.Cell))

const kinds = [Cell.markKind.name, Cell.kind.name]

const readFound = Effect.fnUntraced(function* (run: RunStatement): Effect.fn.Return<CellRecords, SqlError> {
  const rows = readRows((yield* run(cellRecords, [Cell.cellsWorkspace, `{${kinds}}`])).rows)
  const bodies = (name: string) => rows.filter(({ kind }) => kind === name).map(({ body }) => body)
  const [mark = null] = bodies(Cell.markKind.name).map((body) => readMark(body))
  return { mark, listed: bodies(Cell.kind.name).map((body) => readCell(body).name) }
})

const nothing: CellRecords = { mark: null, listed: [] }

/**
 * Asks a cell's database at its current location. A move may take the tables away before the query runs, so if they are
 * missing, asks again.
 */
export const ask = ({
  name,
  ...options
}: LivePlace.MovableOptions & { readonly name: string }): Effect.Effect<NamedRecords> => {
  const reading = Effect.flatMap(LivePlace.find(options), (url) =>
    using({ ...options, url }, (run) => Effect.catchIf(readFound(run), isWithoutTables, () => Effect.succeed(nothing)))
  )
  return Effect.flatMap(reading, (read) => (read === nothing ? reading : Effect.succeed(read))).pipe(
    Effect.orElseSucceed(() => null),
    Effect.map((found) => ({ name, found }))
  )
}

/** Fails if the cells in the settings do not match their databases. Databases that do not respond are not checked. */
export const verify = Effect.fnUntraced(function* (
  cells: Array.NonEmptyReadonlyArray<LivePlace.MovableOptions & { readonly name: string }>
): Effect.fn.Return<void, DatabaseRefused> {
  const [first, ...otherCells] = yield* Effect.forEach(cells, ask, { concurrency: 16 })
  const differs = first === undefined ? null : mismatch([first, ...otherCells])
  if (differs !== null) return yield* new DatabaseRefused({ reason: "cell", message: differs })
})
