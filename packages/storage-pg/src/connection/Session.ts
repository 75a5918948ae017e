import { PgConnection } from "@effect/sql-pg"
import { Effect, Redacted, type Scope } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { addressOf, DatabaseRefused, refusalOf, wrongAddress } from "./DatabaseRefused.ts"
import { inRealTime } from "./inRealTime.ts"
import { connectionOf, type DatabaseOptions } from "./Pools.ts"
import { default_schema, inSchema, isSchemaName } from "./schemaName.ts"

/** Runs a statement of this package in the schema of the options. */
export type Run = (
  sql: string,
  params?: ReadonlyArray<unknown>,
  prepare?: boolean
) => Effect.Effect<PgConnection.Result, SqlError>

/** A connection for administration, such as migrations and moves. It runs one statement after the other. */
export interface Session {
  readonly run: Run
}

const wrongSchemaName = new DatabaseRefused({
  reason: "address",
  message: "The schema must be named in lower-case letters, digits and underscores, at most 50."
})

/** Connects, until the scope closes. */
export const open = Effect.fnUntraced(function* (
  options: DatabaseOptions
): Effect.fn.Return<Session, SqlError | DatabaseRefused, Scope.Scope> {
  const { schema = default_schema, url } = options
  if (addressOf(Redacted.value(url)) === null) return yield* wrongAddress
  if (!isSchemaName(schema)) return yield* wrongSchemaName
  const rewrite = inSchema(schema)
  const connection = yield* PgConnection.make(connectionOf(options))
  return { run: (sql, params, prepare) => connection.query(rewrite(sql), params, prepare) }
})

/** Runs a statement, and says whether it returned a row. */
export const hasRow = (run: Run, sql: string, params: ReadonlyArray<unknown>): Effect.Effect<boolean, SqlError> =>
  Effect.map(run(sql, params), ({ rows }) => rows.length > 0)

/** Connects, and uses the connection. A failure is described in one sentence. */
export const using = <A>(
  options: DatabaseOptions,
  use: (run: Run) => Effect.Effect<A, SqlError | DatabaseRefused>
): Effect.Effect<A, DatabaseRefused> =>
  Effect.flatMap(open(options), ({ run }) => use(run)).pipe(
    Effect.scoped,
    Effect.catchTag("SqlError", (error) => Effect.fail(refusalOf(options, error))),
    inRealTime
  )
