import { Effect, Schema } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import type { Engine } from "../connection/Engine.ts"
import type { Run } from "../connection/Session.ts"
import * as Columns from "../rows/Columns.ts"
import { query, statements } from "../sql/files.ts"

/*
 * What differs on a server with the extension Citus, where a schema can be distributed: its tables are on one of several
 * servers, and Citus can move them. All of it is here and in `sql/citus/`.
 */

const readFound = Columns.someRowsReader(Schema.Struct({ found: Schema.Boolean }))
const finds = (run: Run, sql: string): Effect.Effect<boolean, SqlError> =>
  Effect.map(run(sql), ({ rows }) => readFound(rows)[0].found)

const installed = "select exists (select from pg_extension where extname = 'citus') as found"
const distributed = "select exists (select from pg_dist_schema where schemaid = to_regnamespace('quotewire')) as found"
const undistributed = query("undistributed")
const distribution = statements("citus/distribute.sql")

/** Finds out what keeps a schema. */
export const engineOf = (run: Run): Effect.Effect<Engine, SqlError> =>
  Effect.gen(function* () {
    return (yield* finds(run, installed)) && (yield* finds(run, distributed)) ? "citus" : "postgresql"
  })

/** Whether calls of all functions of a distributed schema run on the server of its tables. Elsewhere some fail. */
export const isComplete = (run: Run): Effect.Effect<boolean, SqlError> =>
  Effect.map(finds(run, undistributed), (found) => !found)

/** Begins a migration: the limits that the migration sets hold on all servers. */
export const beginMigration = (run: Run): Effect.Effect<void, SqlError> =>
  Effect.gen(function* () {
    if (yield* finds(run, installed)) yield* run("set local citus.propagate_set_commands = 'local'")
  })

/**
 * Ends a migration: distributes a schema that is new, and what was added to one that is distributed. Without Citus, and for a
 * schema that an operator has not distributed, it does nothing.
 */
export const endMigration = (run: Run, isNew: boolean): Effect.Effect<void, SqlError> =>
  Effect.gen(function* () {
    if (!(yield* finds(run, installed))) return
    if (!isNew && !(yield* finds(run, distributed))) return
    for (const statement of distribution) yield* run(statement, [], false)
  })
