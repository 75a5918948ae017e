import { Effect, Schema } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import type { Session } from "../connection/Session.ts"
import { rowsReader } from "../rows/Columns.ts"
import { query } from "../sql/files.ts"

/** The prefix of the names of all moves' slots, publications and subscriptions. */
export const namePrefix = "quotewire_move_"

/** The name of a move's slot, publication and subscription. */
export const nameOf = (moveId: string): string => `${namePrefix}${moveId}`

/** Quotes text as an SQL literal. */
export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

const Table = Schema.Struct({ name: Schema.String, bytes: Schema.Int })
/** A table that a move copies: its name, and its size on the queried server's disk. */
export type Table = typeof Table.Type

const tablesQuery = query("moves/tables")
const tableRows = rowsReader(Table)

/** Reads which tables a move copies, from either end. */
export const readTables = ({ run }: Session): Effect.Effect<ReadonlyArray<Table>, SqlError> =>
  Effect.map(run(tablesQuery), ({ rows }) => tableRows(rows))

/** The total size of these tables in bytes. */
export const tableBytes = (session: Session): Effect.Effect<number, SqlError> =>
  Effect.map(readTables(session), (tables) => tables.reduce((sum, { bytes }) => sum + bytes, 0))
