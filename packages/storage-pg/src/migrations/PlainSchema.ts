import { Effect, type Redacted, Schema } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { cellRefused, type DatabaseRefused } from "../connection/DatabaseRefused.ts"
import type { DatabaseOptions } from "../connection/Pools.ts"
import { type RunStatement, using } from "../connection/Session.ts"
import type { Engine } from "../connection/StatementRefused.ts"
import * as Columns from "../rows/Columns.ts"
import * as DatabaseSchema from "./Schema.ts"

/* Functions for a schema that is not a cell. Such a schema cannot move to another server. */

const readFound = Columns.someRowsReader(Schema.Struct({ found: Schema.Boolean }))
const readStates = Columns.rowsReader(Schema.Struct({ state: Schema.String }))

/** Runs a statement that returns one row with a boolean column `found`, and returns its value. */
export const finds = (run: RunStatement, sql: string): Effect.Effect<boolean, SqlError> =>
  Effect.map(run(sql), ({ rows }) => readFound(rows)[0].found)

const installed = "select exists (select from pg_extension where extname = 'citus') as found"
const distributed = "select exists (select from pg_dist_schema where schemaid = to_regnamespace('quotewire')) as found"

/** Whether the Citus extension is installed. */
export const hasCitus = (run: RunStatement): Effect.Effect<boolean, SqlError> => finds(run, installed)

/** Whether Citus has distributed the schema. */
export const isDistributed = (run: RunStatement): Effect.Effect<boolean, SqlError> =>
  Effect.gen(function* () {
    return (yield* hasCitus(run)) && (yield* finds(run, distributed))
  })

const hasPlace = "select to_regclass('quotewire.place') is not null as found"

/** The state that a move recorded for the schema (`place_table.sql`); null if the schema has never moved. */
const stateOfMove = Effect.fnUntraced(function* (run: RunStatement) {
  if (!(yield* finds(run, hasPlace))) return null
  const [row] = readStates((yield* run("select state from quotewire.place")).rows)
  return row?.state ?? null
})

const moved = cellRefused(
  "This cell is being moved, or was moved to another database: pass the list of all cells (--cells or QUOTEWIRE_CELLS, or PgCells)."
)
const onCitus = cellRefused(
  "Citus has distributed this schema: pass the schema as a cell (--cells or QUOTEWIRE_CELLS, or PgCells)."
)

/** The URL of a schema that does not move. Fails if a move has taken the schema elsewhere. */
export const find = (options: DatabaseOptions): Effect.Effect<Redacted.Redacted<string>, DatabaseRefused> =>
  using(
    options,
    Effect.fnUntraced(function* (run) {
      const state = yield* stateOfMove(run)
      return state === null || state === "live" || state === "leaving" ? options.url : yield* moved
    })
  )

/** The engine is always plain PostgreSQL. Fails if Citus has distributed the schema. */
export const engineOf = Effect.fnUntraced(function* (
  run: RunStatement
): Effect.fn.Return<Engine, SqlError | DatabaseRefused> {
  return (yield* isDistributed(run)) ? yield* onCitus : "postgresql"
})

/** The steps of a migration. They fail if the schema is being moved or Citus has distributed it. */
export const steps: DatabaseSchema.Steps = {
  begin: () => Effect.void,
  check: Effect.fnUntraced(function* (run) {
    const state = yield* stateOfMove(run)
    if (state !== null && state !== "live") return yield* DatabaseSchema.moving
    if (yield* isDistributed(run)) return yield* onCitus
  }),
  end: () => Effect.void
}

/**
 * Migrates the schema to the version that this program needs. Returns the names of the migrations that ran.
 *
 * Runs all pending migrations or none, in one transaction. If several hosts migrate concurrently, one host does the
 * work; the others wait and then find nothing to do. A newer schema is not changed.
 *
 * If another session has locked a table, the migration waits half a second for the lock, and retries for half a minute.
 * Then it fails with `locked`.
 *
 * A dry run does the same and then rolls everything back. It shows whether the migrations would succeed, and takes the
 * same locks while it runs.
 */
export const migrate = (
  options: DatabaseOptions,
  migrateOptions: DatabaseSchema.MigrateOptions = {}
): Effect.Effect<ReadonlyArray<string>, DatabaseRefused> => DatabaseSchema.migrateWith(options, steps, migrateOptions)
