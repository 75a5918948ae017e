import { Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { DatabaseRefused } from "../connection/DatabaseRefused.ts"
import type { RunStatement } from "../connection/Session.ts"
import type { Engine } from "../connection/StatementRefused.ts"
import { finds, hasCitus, isDistributed } from "../migrations/PlainSchema.ts"
import { query, statements } from "../sql/files.ts"

/*
 * Everything that differs on a server with the Citus extension. Citus can distribute a schema: its tables are then on
 * one of several servers, and Citus can move them. The SQL for this is in `sql/citus/`.
 */

const undistributed = query("undistributed")
const distribution = statements("citus/distribute.sql")

/** Determines which engine manages a schema. */
export const engineOf = (run: RunStatement): Effect.Effect<Engine, SqlError> =>
  Effect.map(isDistributed(run), (isCitus) => (isCitus ? "citus" : "postgresql"))

const halfDistributed = new DatabaseRefused({
  reason: "half_made_schema",
  message:
    "Citus has distributed the schema, but not all of its functions: run quotewire migrate, or PgCells.migrate, first."
})

/**
 * Like `engineOf`, but fails if function calls do not run on the server that has the tables: some statements in the
 * functions would fail on any other server.
 */
export const usableEngine = Effect.fnUntraced(function* (
  run: RunStatement
): Effect.fn.Return<Engine, SqlError | DatabaseRefused> {
  const engine = yield* engineOf(run)
  if (engine === "citus" && (yield* finds(run, undistributed))) return yield* halfDistributed
  return engine
})

/** Begins a migration: makes its time limits apply on all servers. */
export const beginMigration = (run: RunStatement): Effect.Effect<void, SqlError> =>
  Effect.gen(function* () {
    if (yield* hasCitus(run)) yield* run("set local citus.propagate_set_commands = 'local'")
  })

/**
 * Ends a migration: distributes a new schema, or what was added to a distributed schema. Does nothing if Citus is not
 * installed, or if an operator has not distributed the existing schema.
 */
export const endMigration = (run: RunStatement, isNew: boolean): Effect.Effect<void, SqlError> =>
  Effect.gen(function* () {
    if (!(yield* isNew ? hasCitus(run) : isDistributed(run))) return
    for (const statement of distribution) yield* run(statement, [], false)
  })
