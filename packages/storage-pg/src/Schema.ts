import { PgConnection } from "@effect/sql-pg"
import { Effect, Schema } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { connectionOf, type DatabaseOptions } from "./Database.ts"
import { DatabaseRefused, refusalOf } from "./DatabaseRefused.ts"
import { inRealTime } from "./inRealTime.ts"
import { known, type Migration, migrations } from "./migrations/migrations.ts"

/** How far a database's schema is, and what this program needs. */
export interface SchemaStatus {
  /** The newest migration in the database; 0 in an empty one. */
  readonly found: number
  /** The oldest program that serves on this schema, by the newest migration that it knows. */
  readonly serves_from: number
  /** The newest migration that this program knows. */
  readonly known: number
  /** The names of the migrations that have not run. */
  readonly pending: ReadonlyArray<string>
}

const statusRow = Schema.Struct({ found: Schema.Int, serves_from: Schema.Int })
const decodeStatus = Schema.decodeUnknownSync(Schema.NonEmptyArray(statusRow))

/** Reads how far the schema is; it must exist. */
export const statusStatement = `select number as found, serves_from from quotewire.migration
  union all select 0, 0 order by found desc limit 1`

/** Reads the answer to it. */
export const readStatus = (rows: unknown): SchemaStatus => {
  const [{ found, serves_from }] = decodeStatus(rows)
  return { found, serves_from, known, pending: migrations.slice(found).map(({ name }) => name) }
}

/** What keeps this program from serving on a schema; null where nothing does. */
export const obstacle = ({ found, serves_from }: SchemaStatus): DatabaseRefused | null => {
  if (found < known) {
    const message = `The database schema is at migration ${found}, and this program needs ${known}: migrate it first.`
    return new DatabaseRefused({ reason: "older_schema", message })
  }
  if (serves_from > known) {
    const message = `The database schema is at migration ${found}, which needs a newer program: this one knows ${known}.`
    return new DatabaseRefused({ reason: "newer_schema", message })
  }
  return null
}

const exists = "select to_regclass('quotewire.migration') is not null as found"
const isThere = Schema.decodeUnknownSync(Schema.NonEmptyArray(Schema.Struct({ found: Schema.Boolean })))

const statusOn = Effect.fnUntraced(function* (connection: PgConnection.PgConnection) {
  const [{ found }] = isThere((yield* connection.query(exists)).rows)
  return readStatus(found ? (yield* connection.query(statusStatement)).rows : [{ found: 0, serves_from: 0 }])
})

const onConnection = <A>(
  options: DatabaseOptions,
  use: (connection: PgConnection.PgConnection) => Effect.Effect<A, SqlError>
): Effect.Effect<A, DatabaseRefused> =>
  Effect.scoped(Effect.flatMap(PgConnection.make(connectionOf(options)), use)).pipe(
    Effect.catchTag("SqlError", (error) => Effect.fail(refusalOf(options.url, error))),
    inRealTime
  )

/** How far the schema is. Reads only. */
export const status = (options: DatabaseOptions): Effect.Effect<SchemaStatus, DatabaseRefused> =>
  onConnection(options, statusOn)

// Anything that nobody else locks by.
const lock = "select pg_advisory_xact_lock(5849202817)"

const begin = [
  "create schema if not exists quotewire",
  `create table if not exists quotewire.migration (
    number integer primary key,
    name text not null,
    serves_from integer not null,
    applied_at timestamptz not null default now()
  )`
]

const apply = Effect.fnUntraced(function* (connection: PgConnection.PgConnection, migration: Migration) {
  for (const statement of migration.statements) yield* connection.query(statement, [], false)
  yield* connection.query("insert into quotewire.migration (number, name, serves_from) values ($1, $2, $3)", [
    migration.number,
    migration.name,
    migration.serves_from
  ])
})

/** Runs what is pending in one transaction: after a failure the schema is as it was. */
const migrateOn = Effect.fnUntraced(function* (connection: PgConnection.PgConnection) {
  // What is to be built takes as long as it takes.
  for (const statement of ["begin", "set local statement_timeout = 0", lock, ...begin])
    yield* connection.query(statement)
  const { found } = yield* statusOn(connection)
  const pending = migrations.slice(found)
  for (const migration of pending) yield* apply(connection, migration)
  yield* connection.query("commit")
  return pending.map(({ name }) => name)
})

/**
 * Brings the schema up to what this program knows, and answers the names of the migrations that it ran.
 *
 * All of them or none, in one transaction; of several that migrate at once one does, and the others wait and find
 * nothing to do. A schema that is newer already is left alone.
 */
export const migrate = (options: DatabaseOptions): Effect.Effect<ReadonlyArray<string>, DatabaseRefused> =>
  onConnection(options, migrateOn)
