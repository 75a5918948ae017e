import { Effect, Schema } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import type { Session } from "../connection/Session.ts"
import { rowsReader } from "../rows/Columns.ts"
import { query } from "../sql/files.ts"

const Table = Schema.Struct({ name: Schema.String, bytes: Schema.Int })
/** A table that a move copies: its name, and its size on the disk of the server that was asked. */
export type Table = typeof Table.Type

const tablesQuery = query("moves/tables")
const readTables = rowsReader(Table)

/** Reads which tables a move copies, at either end. */
export const read = ({ run }: Session): Effect.Effect<ReadonlyArray<Table>, SqlError> =>
  Effect.map(run(tablesQuery), ({ rows }) => readTables(rows))

/** The size of all of them in bytes. */
export const bytes = (session: Session): Effect.Effect<number, SqlError> =>
  Effect.map(read(session), (tables) => tables.reduce((sum, { bytes }) => sum + bytes, 0))
