import { Effect, Schema } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { defaultSchema } from "../connection/Address.ts"
import type { Session } from "../connection/Session.ts"
import { someRowsReader } from "../rows/Columns.ts"
import { query } from "../sql/files.ts"
import type { End } from "./MoveRefused.ts"

/*
 * Advisory locks, so that only one command at a time works on a move. The locks are released when the command's
 * connections close.
 */

// Arbitrary numbers. Nothing else uses them for locks.
const keys: Readonly<Record<End, number>> = { old: 584_920_282, new: 584_920_283 }

/** Hashes a schema's name to a number from -2^31 to 2^31 - 1 (FNV-1a). */
const numberOf = (schema: string): number => {
  let hash = 0x811c9dc5
  for (let index = 0; index < schema.length; index++) hash = Math.imul(hash ^ schema.charCodeAt(index), 0x01000193)
  return hash | 0
}

const readLocked = someRowsReader(Schema.Struct({ locked: Schema.Boolean }))
const readRunning = someRowsReader(Schema.Struct({ is_running: Schema.Boolean }))

/** Locks one end until the session closes. Returns false if another command holds the lock. */
export const lockEnd = ({ run }: Session, end: End, schema: string = defaultSchema): Effect.Effect<boolean, SqlError> =>
  Effect.map(
    run("select pg_try_advisory_lock($1::integer, $2::integer) as locked", [keys[end], numberOf(schema)]),
    ({ rows }) => readLocked(rows)[0].locked
  )

/** Whether a command is working on the move. Its lock in the old database shows that. */
export const isRunning = ({ run }: Session, schema: string = defaultSchema): Effect.Effect<boolean, SqlError> =>
  Effect.map(
    run(query("moves/running"), [keys.old, numberOf(schema) >>> 0]),
    ({ rows }) => readRunning(rows)[0].is_running
  )
