import type { PgConnection } from "@effect/sql-pg"
import { Effect, Schema } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import * as Columns from "../rows/Columns.ts"
import { statements } from "../sql/files.ts"

/*
 * What differs on a server with the extension Citus, where a schema can be distributed: its tables are on one of several
 * servers, and Citus can move them. Everything about it is here and in `sql/citus/`.
 */

/** What keeps a schema: PostgreSQL alone, or Citus, which has distributed it. */
export type Engine = "postgresql" | "citus"

/** Runs a statement of this package in the schema of the options. */
export type Run = (
  sql: string,
  params?: ReadonlyArray<unknown>,
  prepare?: boolean
) => Effect.Effect<PgConnection.Result, SqlError>

const readFound = Columns.someRowsReader(Schema.Struct({ found: Schema.Boolean }))
const find = (run: Run, condition: string): Effect.Effect<boolean, SqlError> =>
  Effect.map(run(`select exists (${condition}) as found`), ({ rows }) => readFound(rows)[0].found)

const isInstalled = (run: Run) => find(run, "select from pg_extension where extname = 'citus'")
const isDistributed = (run: Run) =>
  find(run, "select from pg_dist_schema where schemaid = to_regnamespace('quotewire')")

/** Finds out what keeps a schema. */
export const engineOf = (run: Run): Effect.Effect<Engine, SqlError> =>
  Effect.gen(function* () {
    return (yield* isInstalled(run)) && (yield* isDistributed(run)) ? "citus" : "postgresql"
  })

const notDistributed = `select from pg_proc p
  where p.pronamespace = to_regnamespace('quotewire') and not exists (
    select from pg_dist_object o
    where o.classid = 'pg_proc'::regclass and o.objid = p.oid and o.colocationid is not null
  )`

/** Whether calls of all functions run on the server of the tables. Elsewhere they are slow, and some fail. */
export const isComplete = (run: Run): Effect.Effect<boolean, SqlError> =>
  Effect.map(find(run, notDistributed), (found) => !found)

const distribution = statements("citus/distribute.sql")

/**
 * Distributes a schema that was just made, and what a migration has added to one that is distributed. Without Citus, and for a
 * schema that an operator has not distributed, it does nothing.
 */
export const distribute = (run: Run, isNew: boolean): Effect.Effect<void, SqlError> =>
  Effect.gen(function* () {
    if (!(yield* isInstalled(run))) return
    if (!isNew && !(yield* isDistributed(run))) return
    for (const statement of distribution) yield* run(statement, [], false)
  })

/**
 * How a connection plans its statements. PostgreSQL plans those with arrays nearly every time unless told to plan once. Citus
 * sends a call to the server of the tables only where it plans with the values of the call.
 */
export const planCacheMode = (engine: Engine): string => (engine === "citus" ? "auto" : "force_generic_plan")
