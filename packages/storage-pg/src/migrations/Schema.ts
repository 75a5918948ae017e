import { Effect, Schedule, Schema } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import * as Citus from "../citus/Citus.ts"
import { DatabaseRefused, migrationRefusalOf } from "../connection/DatabaseRefused.ts"
import type { Engine } from "../connection/Engine.ts"
import { inRealTime } from "../connection/inRealTime.ts"
import type { DatabaseOptions } from "../connection/Pools.ts"
import { type Run, using } from "../connection/Session.ts"
import * as Place from "../places/Place.ts"
import * as Columns from "../rows/Columns.ts"
import { query, statements } from "../sql/files.ts"
import { KnownMigrations, type Migration } from "./migrations.ts"

/** Which migrations a database has, and which this program needs. */
export interface SchemaStatus {
  /** The newest migration in the database; 0 in an empty one. */
  readonly found: number
  /** The oldest program that can use this schema, given as the newest migration that it knows. */
  readonly serves_from: number
  /** The newest migration that this program knows. */
  readonly known: number
  /** The names of the migrations that have not run. */
  readonly pending: ReadonlyArray<string>
}

const readStatusRow = Columns.someRowsReader(Schema.Struct({ found: Schema.Int, serves_from: Schema.Int }))

/** The statement that reads which migrations a database has. The schema must exist. */
export const statusStatement = query("schema_status")

/** Reads the answer to `statusStatement`, for a program that knows these migrations. */
export const readStatus = (rows: unknown, known: ReadonlyArray<Migration>): SchemaStatus => {
  const [{ found, serves_from }] = readStatusRow(rows)
  return { found, serves_from, known: known.length, pending: known.slice(found).map(({ name }) => name) }
}

/** Why this program cannot use a schema; null if it can. */
export const incompatibility = ({ found, serves_from, known }: SchemaStatus): DatabaseRefused | null => {
  if (found < known) {
    const message = `The database schema is at migration ${found}, and this program needs ${known}: run quotewire migrate, PgStorage.migrate, or postgres({ migrate: true }), first.`
    return new DatabaseRefused({ reason: "older_schema", message })
  }
  if (serves_from > known) {
    const message = `The database schema is at migration ${found}, which needs a newer program: this one knows ${known}.`
    return new DatabaseRefused({ reason: "newer_schema", message })
  }
  return null
}

const exists = "select to_regclass('quotewire.migration') is not null as found"
const readExists = Columns.someRowsReader(Schema.Struct({ found: Schema.Boolean }))

const statusOn = Effect.fnUntraced(function* (run: Run) {
  const [{ found }] = readExists((yield* run(exists)).rows)
  const rows = found ? (yield* run(statusStatement)).rows : [{ found: 0, serves_from: 0 }]
  return readStatus(rows, yield* KnownMigrations)
})

/** Reads which migrations a database has, and changes nothing. */
export const status = (options: DatabaseOptions): Effect.Effect<SchemaStatus, DatabaseRefused> =>
  using(options, statusOn)

const halfDistributed = new DatabaseRefused({
  reason: "half_made_schema",
  message:
    "Citus has distributed the schema, but not all of its functions: run quotewire migrate, or PgStorage.migrate, first."
})

/** Finds out what keeps a schema. Fails if this program cannot use it. */
export const examine = (options: DatabaseOptions): Effect.Effect<Engine, DatabaseRefused> =>
  using(
    options,
    Effect.fnUntraced(function* (run) {
      const refusal = incompatibility(yield* statusOn(run))
      if (refusal !== null) return yield* refusal
      const engine = yield* Citus.engineOf(run)
      if (engine === "citus" && !(yield* Citus.isComplete(run))) return yield* halfDistributed
      return engine
    })
  )

// One host migrates at a time. The number is arbitrary; nothing else locks it.
const lock = "select pg_advisory_xact_lock(5849202817)"
const migrationTable = statements("migration_table.sql")

// Statements of hosts queue behind a migration that waits for a table. So it gives up soon, lets them pass and tries again.
// It gives up before PostgreSQL looks for deadlocks (after a second), which could cancel the statement of a host.
const shortLockTimeout = "set local lock_timeout = '500ms'"
const retries = { schedule: Schedule.spaced("500 millis"), times: 29 }

const apply = Effect.fnUntraced(function* (run: Run, migration: Migration) {
  for (const statement of migration.statements) yield* run(statement, [], false)
  yield* run("insert into quotewire.migration (number, name, serves_from) values ($1, $2, $3)", [
    migration.number,
    migration.name,
    migration.serves_from
  ])
})

const moving = new DatabaseRefused({
  reason: "move",
  message:
    "The cell is being moved, or was moved away from this database: migrate it where it is, when the move has ended."
})

/** Runs the pending migrations in one transaction. After a failure the schema is unchanged. */
const migrateOn = Effect.fnUntraced(function* (options: DatabaseOptions, run: Run, isTarget: boolean) {
  yield* run("begin")
  yield* Citus.beginMigration(run)
  // Building an index may take long, and so may whoever else migrates.
  for (const statement of ["set local statement_timeout = 0", lock, shortLockTimeout, ...migrationTable]) {
    yield* run(statement)
  }
  const { state } = yield* Place.read(run)
  if (!["empty", "settled", isTarget ? "arriving" : "live"].includes(state)) return yield* moving
  const { found } = yield* statusOn(run)
  const pending = (yield* KnownMigrations).slice(found)
  const orRefuse = (name: string, step: Effect.Effect<void, SqlError>) =>
    Effect.catchTag(step, "SqlError", (error) => Effect.fail(migrationRefusalOf(options, name, error)))
  for (const migration of pending) yield* orRefuse(migration.name, apply(run, migration))
  // What arrives by a move cannot be distributed before it is there.
  if (!isTarget) yield* orRefuse("for Citus", Citus.endMigration(run, found === 0))
  yield* run("commit")
  return pending.map(({ name }) => name)
})

/**
 * Migrates the schema to what this program needs, and returns the names of the migrations that it ran.
 *
 * It runs all of them or none, in one transaction. If several hosts migrate at once, one does it, and the others wait and then
 * find nothing to do. A newer schema is not changed.
 *
 * A migration waits half a second for a table that another session holds, and tries again for half a minute. Then it fails
 * with the reason `locked`.
 */
export const migrate = (options: DatabaseOptions): Effect.Effect<ReadonlyArray<string>, DatabaseRefused> =>
  migrateAs(options, false)

/** Migrates the schema that a move copies a cell to. */
export const migrateTarget = (options: DatabaseOptions): Effect.Effect<ReadonlyArray<string>, DatabaseRefused> =>
  migrateAs(options, true)

const migrateAs = (options: DatabaseOptions, isTarget: boolean) =>
  using(options, (run) => migrateOn(options, run, isTarget)).pipe(
    Effect.retry({ ...retries, while: ({ reason }) => reason === "locked" }),
    inRealTime
  )
