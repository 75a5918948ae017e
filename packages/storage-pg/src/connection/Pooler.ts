import { PgConnection } from "@effect/sql-pg"
import { Effect, Schema } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { someRowsReader } from "../rows/Columns.ts"
import { query } from "../sql/files.ts"
import { targetOf } from "./Address.ts"
import { DatabaseRefused, refusalOf } from "./DatabaseRefused.ts"
import { inRealTime } from "./inRealTime.ts"
import { connectionOf, type DatabaseOptions, sharedConnectionOf } from "./Pools.ts"

/*
 * A pooler between hosts and PostgreSQL, such as PgBouncer. In session mode, a connection keeps its server process. In
 * transaction mode, each statement may run in a different server process, so no connection can listen for
 * notifications.
 */

/** The server process that ran a statement, and the database that it serves. */
const Backend = Schema.Struct({
  pid: Schema.Int,
  role: Schema.String,
  /** A name for the server and the database. */
  place: Schema.String,
  /** Whether the server cancels statements that run too long. */
  is_timed: Schema.Boolean
})
const readBackend = someRowsReader(Backend)
const backend = query("backend")

/** How many times each of two connections is asked which server process it uses. The connections take turns. */
const turns = 3

const refused = (message: string) => new DatabaseRefused({ reason: "pooler", message })

const sharesSessions = (place: string) =>
  refused(
    `The database address points to a pooler in transaction mode, at ${place}: set pooler_url (or --database-pooler-url) to this address, and set the database address to PostgreSQL itself.`
  )
const otherDatabase = (place: string) =>
  refused(`The pooler at ${place} connects to a different server or database than the database address.`)
const untimed = (place: string, role: string) =>
  refused(
    `Through the pooler at ${place}, statements have no time limit: run "alter role ${role} set statement_timeout = '8s'" and "alter role ${role} set plan_cache_mode = force_generic_plan" in PostgreSQL, and reconnect the pooler.`
  )

const backendOf = (connection: PgConnection.PgConnection) =>
  Effect.map(connection.query(backend), ({ rows }) => readBackend(rows)[0])

/**
 * Fails unless each connection keeps its own server process. Without load, connections may keep their server processes
 * even in transaction mode, so two connections are asked several times.
 */
const checkSessions = Effect.fnUntraced(function* (options: DatabaseOptions, place: string) {
  const config = yield* connectionOf(options)
  const first = yield* PgConnection.make(config)
  const second = yield* PgConnection.make(config)
  const [firstBackend, secondBackend] = [yield* backendOf(first), yield* backendOf(second)]
  let isShared = firstBackend.pid === secondBackend.pid
  for (let turn = 1; turn < turns && !isShared; turn++) {
    isShared =
      (yield* backendOf(first)).pid !== firstBackend.pid || (yield* backendOf(second)).pid !== secondBackend.pid
  }
  if (isShared) return yield* sharesSessions(place)
  return firstBackend.is_timed ? firstBackend : yield* untimed(place, firstBackend.role)
})

/** Fails unless the URL of a database, and the URL of the pooler in front of it, can be used as intended. */
export const check = (options: DatabaseOptions): Effect.Effect<void, DatabaseRefused> => {
  const { pooler_url } = options
  const placeOf = (url: DatabaseOptions["url"]) => targetOf(url)?.place ?? "an unknown place"
  const orRefuse = <A, R>(url: DatabaseOptions["url"], step: Effect.Effect<A, SqlError | DatabaseRefused, R>) =>
    Effect.catchTag(step, "SqlError", (error) => Effect.fail(refusalOf({ ...options, url }, error)))
  return Effect.gen(function* () {
    const direct = yield* orRefuse(options.url, checkSessions(options, placeOf(options.url)))
    if (pooler_url === undefined) return
    const config = yield* sharedConnectionOf(options, pooler_url)
    const pooled = yield* orRefuse(pooler_url, Effect.flatMap(PgConnection.make(config), backendOf))
    if (pooled.place !== direct.place) return yield* otherDatabase(placeOf(pooler_url))
    if (!pooled.is_timed) return yield* untimed(placeOf(pooler_url), pooled.role)
  }).pipe(Effect.scoped, inRealTime)
}
