import { PgConnection } from "@effect/sql-pg"
import { Effect, Fiber, Redacted, type Scope } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { addressOf, defaultSchema, inSchema, isSchemaName } from "./Address.ts"
import { DatabaseRefused, refusalOf, wrongAddress } from "./DatabaseRefused.ts"
import { inRealTime } from "./inRealTime.ts"
import { connectionOf, type DatabaseOptions } from "./Pools.ts"

/** Runs a statement from this package in the configured schema. */
export type RunStatement = (
  sql: string,
  params?: ReadonlyArray<unknown>,
  prepare?: boolean
) => Effect.Effect<PgConnection.Result, SqlError>

/** A connection for administration, such as migrations and moves. It runs one statement at a time. */
export interface Session {
  readonly run: RunStatement
}

const wrongSchemaName = new DatabaseRefused({
  reason: "address",
  message: "The schema name must have at most 50 lower-case letters, digits and underscores."
})

/** Opens a connection until the scope closes. */
export const open = Effect.fnUntraced(function* (
  options: DatabaseOptions
): Effect.fn.Return<Session, SqlError | DatabaseRefused, Scope.Scope> {
  const { schema = defaultSchema, url } = options
  if (addressOf(Redacted.value(url)) === null) return yield* wrongAddress
  if (!isSchemaName(schema)) return yield* wrongSchemaName
  const rewrite = inSchema(schema)
  const connection = yield* PgConnection.make(yield* connectionOf(options))
  let isInTransaction = false
  return {
    run: (sql, params, isPrepared) =>
      Effect.suspend(() => {
        const query = connection.query(rewrite(sql), params, isPrepared)
        const mayCommit = !isInTransaction && !isQuery(sql)
        isInTransaction = sql === "begin" || (isInTransaction && sql !== "commit" && sql !== "rollback")
        return mayCommit || sql === "commit" ? uncancelled(query) : query
      })
  }
})

/** Whether a statement only reads, so that cancelling it is harmless. */
const isQuery = (sql: string): boolean => sql.startsWith("select ")

/**
 * Lets an interrupted statement run to its end on the server. A cancelled commit would become visible before the
 * standbys have it.
 */
const uncancelled = <A, E>(statement: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.flatMap(Effect.forkDetach(statement, { startImmediately: true }), Fiber.join)

/** Runs a statement and returns whether it returned a row. */
export const hasRow = (
  run: RunStatement,
  sql: string,
  params: ReadonlyArray<unknown>
): Effect.Effect<boolean, SqlError> => Effect.map(run(sql, params), ({ rows }) => rows.length > 0)

/** Opens a connection and uses it. Turns a failure into one sentence. */
export const using = <A>(
  options: DatabaseOptions,
  body: (run: RunStatement) => Effect.Effect<A, SqlError | DatabaseRefused>
): Effect.Effect<A, DatabaseRefused> =>
  Effect.flatMap(open(options), ({ run }) => body(run)).pipe(
    Effect.scoped,
    Effect.catchTag("SqlError", (error) => Effect.fail(refusalOf(options, error))),
    inRealTime
  )
