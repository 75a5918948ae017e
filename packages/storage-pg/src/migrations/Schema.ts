import { Effect, Schedule, Schema } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { DatabaseRefused, migrationRefusalOf } from "../connection/DatabaseRefused.ts"
import { inRealTime } from "../connection/inRealTime.ts"
import type { DatabaseOptions } from "../connection/Pools.ts"
import { type RunStatement, using } from "../connection/Session.ts"
import type { Engine } from "../connection/StatementRefused.ts"
import * as Columns from "../rows/Columns.ts"
import { query, statements } from "../sql/files.ts"
import { KnownMigrations, type Migration } from "./migrations.ts"

/** Which migrations a database has run, and which ones this program needs. */
export interface SchemaStatus {
  /** The number of the newest migration that ran in the database; 0 if the database is empty. */
  readonly found: number
  /**
   * The oldest program that can use this schema, identified by the number of the newest migration that the program
   * knows.
   */
  readonly serves_from: number
  /** The number of the newest migration that this program knows. */
  readonly known: number
  /** The names of the migrations that have not run. */
  readonly pending: ReadonlyArray<string>
  /**
   * Whether the pending migrations exclude the hosts that use the schema now. After the migration, these hosts stop
   * being ready.
   */
  readonly excludes_older: boolean
}

const readStatusRow = Columns.someRowsReader(Schema.Struct({ found: Schema.Int, serves_from: Schema.Int }))

/** The statement that reads which migrations a database has run. The schema must exist. */
export const statusStatement = query("schema_status")

/** Reads the response to `statusStatement`. `migrations` are the migrations that this program knows. */
export const readStatus = (rows: unknown, migrations: ReadonlyArray<Migration>): SchemaStatus => {
  const [{ found, serves_from }] = readStatusRow(rows)
  const pending = migrations.slice(found)
  return {
    found,
    serves_from,
    known: migrations.length,
    pending: pending.map(({ name }) => name),
    excludes_older: found > 0 && pending.some((migration) => migration.serves_from > found)
  }
}

/** Explains why this program cannot use a schema; null if it can. */
export const incompatibility = ({ found, serves_from, known }: SchemaStatus): DatabaseRefused | null => {
  if (found < known) {
    const message = `The database schema is at migration ${found}, but this program needs ${known}. First run quotewire migrate, PgStorage.migrate, or postgres({ migrate: true }).`
    return new DatabaseRefused({ reason: "older_schema", message })
  }
  if (serves_from > known) {
    const message = `The database schema is at migration ${found}, which needs a newer program: this program knows migrations up to ${known}.`
    return new DatabaseRefused({ reason: "newer_schema", message })
  }
  return null
}

const exists = "select to_regclass('quotewire.migration') is not null as found"
const readExists = Columns.someRowsReader(Schema.Struct({ found: Schema.Boolean }))

const statusOn = Effect.fnUntraced(function* (run: RunStatement) {
  const [{ found }] = readExists((yield* run(exists)).rows)
  const rows = found ? (yield* run(statusStatement)).rows : [{ found: 0, serves_from: 0 }]
  return readStatus(rows, yield* KnownMigrations)
})

/** Reads which migrations a database has run. Changes nothing. */
export const status = (options: DatabaseOptions): Effect.Effect<SchemaStatus, DatabaseRefused> =>
  using(options, statusOn)

/** Determines which engine manages a schema. Fails if this program cannot use the schema. */
export const examineOn = Effect.fnUntraced(function* (
  run: RunStatement,
  engineOf: (run: RunStatement) => Effect.Effect<Engine, SqlError | DatabaseRefused>
): Effect.fn.Return<Engine, SqlError | DatabaseRefused> {
  const refusal = incompatibility(yield* statusOn(run))
  return refusal === null ? yield* engineOf(run) : yield* refusal
})

/** Like `examineOn`, on a separate connection. */
export const examine = (
  options: DatabaseOptions,
  engineOf: (run: RunStatement) => Effect.Effect<Engine, SqlError | DatabaseRefused>
): Effect.Effect<Engine, DatabaseRefused> => using(options, (run) => examineOn(run, engineOf))

// Lets only one host migrate at a time. The number is arbitrary; nothing else uses this lock.
const lock = "select pg_advisory_xact_lock(5849202817)"
const migrationTable = statements("migration_table.sql")

// While a migration waits for a table, hosts' statements queue behind it. So the migration stops waiting after half a
// second, lets those statements run and retries. It stops before PostgreSQL checks for deadlocks (after a second),
// because that check could cancel a host's statement.
const shortLockTimeout = "set local lock_timeout = '500ms'"
const retries = { schedule: Schedule.spaced("500 millis"), times: 29 }

const apply = Effect.fnUntraced(function* (run: RunStatement, migration: Migration) {
  for (const statement of migration.statements) yield* run(statement, [], false)
  yield* run("insert into quotewire.migration (number, name, serves_from) values ($1, $2, $3)", [
    migration.number,
    migration.name,
    migration.serves_from
  ])
})

/** The error for migrating a schema that is being moved, or that was moved to another database. */
export const moving = new DatabaseRefused({
  reason: "move",
  message:
    "The cell is being moved, or was moved away from this database: after the move, migrate the cell in its new database."
})

/** Additional steps that run in the transaction of a migration. */
export interface Steps {
  readonly begin: (run: RunStatement) => Effect.Effect<void, SqlError>
  /** Fails if the schema must not be migrated. */
  readonly check: (run: RunStatement) => Effect.Effect<void, SqlError | DatabaseRefused>
  readonly end: (run: RunStatement, isNew: boolean) => Effect.Effect<void, SqlError>
}

/** How to migrate. */
export interface MigrateOptions {
  /** Whether to roll everything back at the end, so that the schema stays unchanged; false by default. */
  readonly dry_run?: boolean
}

/** Runs the pending migrations in one transaction. After a failure or a dry run, the schema is unchanged. */
export const migrateOn = Effect.fnUntraced(function* (
  options: DatabaseOptions,
  run: RunStatement,
  { begin, check, end }: Steps,
  { dry_run = false }: MigrateOptions = {}
) {
  yield* run("begin")
  yield* begin(run)
  // There is no time limit, because building an index, or waiting for another host's migration, may take long.
  for (const statement of ["set local statement_timeout = 0", lock, shortLockTimeout, ...migrationTable]) {
    yield* run(statement)
  }
  yield* check(run)
  const { found } = yield* statusOn(run)
  const pending = (yield* KnownMigrations).slice(found)
  const orRefuse = (name: string, step: Effect.Effect<void, SqlError>) =>
    Effect.catchTag(step, "SqlError", (error) => Effect.fail(migrationRefusalOf(options, name, error)))
  for (const migration of pending) yield* orRefuse(migration.name, apply(run, migration))
  yield* orRefuse("for Citus", end(run, found === 0))
  yield* run(dry_run ? "rollback" : "commit")
  return pending.map(({ name }) => name)
})

/** Migrates a schema with these additional steps. Returns the names of the migrations that ran. */
export const migrateWith = (
  options: DatabaseOptions,
  steps: Steps,
  migrateOptions: MigrateOptions = {}
): Effect.Effect<ReadonlyArray<string>, DatabaseRefused> =>
  using(options, (run) => migrateOn(options, run, steps, migrateOptions)).pipe(
    Effect.retry({ ...retries, while: ({ reason }) => reason === "locked" }),
    inRealTime
  )
