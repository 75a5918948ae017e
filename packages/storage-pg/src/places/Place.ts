import { Effect, Schema } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { defaultSchema } from "../connection/Address.ts"
import type { RunStatement } from "../connection/Session.ts"
import { rowsReader, someRowsReader } from "../rows/Columns.ts"
import { query, statements } from "../sql/files.ts"

/*
 * Decides where a cell is. A cell's location is a schema in a database. A cell has one location, or two while it moves.
 * Its first move creates a row at each location, which records what is known there about the cell (`place_table.sql`).
 */

const PlaceRow = Schema.Struct({
  /** `place_table.sql` explains these states. */
  state: Schema.Literals(["live", "leaving", "held", "left", "arriving"]),
  epoch: Schema.Int,
  move_id: Schema.NullOr(Schema.String),
  is_overdue: Schema.Boolean
})

/** What is known about a location. */
export type Place =
  | typeof PlaceRow.Type
  /** The location has no tables. */
  | { readonly state: "empty" }
  /** A cell that has never moved. */
  | { readonly state: "settled" }
  /** The location does not respond. */
  | { readonly state: "unknown" }

const readFound = someRowsReader(Schema.Struct({ has_place: Schema.Boolean, has_tables: Schema.Boolean }))
const readPlaces = rowsReader(PlaceRow)

const found = query("places/found")
const placeQuery = query("places/place")

/** Reads the state of a location. */
export const read = Effect.fnUntraced(function* (run: RunStatement): Effect.fn.Return<Place, SqlError> {
  const [{ has_place, has_tables }] = readFound((yield* run(found)).rows)
  const [row] = has_place ? readPlaces((yield* run(placeQuery)).rows) : []
  if (row !== undefined) return row
  return { state: has_tables ? "settled" : "empty" }
})

const placeTable = statements("place_table.sql")

/** Creates the `place` table and the table of move marks if they do not exist. */
export const makePlaceTable = (run: RunStatement): Effect.Effect<void, SqlError> =>
  Effect.forEach(placeTable, (statement) => run(statement), { discard: true })

/** The schema name under which the tables are kept while a cell is held and until its move is finished. */
export const asideOf = (schema: string = defaultSchema): string => `${schema}_left`

/** The statement that ends a hold. With `overdue` it ends only a hold that has expired. */
export const releaseStatement = (schema: string | undefined, holds: "overdue" | "any"): string =>
  query("places/release", {
    aside: `"${asideOf(schema)}"`,
    if: holds === "overdue" ? "held_until < clock_timestamp()" : "true"
  })

/** The statement that records a move in the new database after it was decided in the old one. */
export const settleStatement = query("moves/settle")

/** Which of two locations a cell is at. If the cell is at neither, says why. */
export type Whereabouts = "first" | "second" | "held" | "left" | "arriving" | "unknown"

/** Whether a location records that the cell is at that location. */
const isHere = ({ state }: Place): boolean => state === "live" || state === "leaving"

const epochOf = (place: Place): number => ("epoch" in place ? place.epoch : 0)

/** Whether a move from one location to the other has been decided, but is not yet recorded at the other. */
const isDecided = (source: Place, target: Place): boolean =>
  source.state === "left" && target.state === "arriving" && source.move_id !== null && source.move_id === target.move_id

/**
 * Decides where a cell is from the states of its locations. `secondPlace` is null if the settings name only one location.
 */
export const whereabouts = (firstPlace: Place, secondPlace: Place | null): Whereabouts => {
  const isFirst = firstPlace.state === "settled" || isHere(firstPlace)
  const isSecond = secondPlace !== null && isHere(secondPlace)
  // Both locations can claim the cell only if an old backup of one of them was restored. The cell continued at the
  // location with the higher epoch.
  if (isFirst && isSecond) return epochOf(secondPlace) > epochOf(firstPlace) ? "second" : "first"
  if (isFirst) return "first"
  if (isSecond) return "second"
  if (secondPlace !== null && isDecided(firstPlace, secondPlace)) return "second"
  if (secondPlace !== null && isDecided(secondPlace, firstPlace)) return "first"
  const states = [firstPlace.state, secondPlace?.state]
  if (states.includes("held")) return "held"
  if (states.includes("unknown")) return "unknown"
  if (firstPlace.state === "left" || firstPlace.state === "arriving") return firstPlace.state
  return "first"
}
