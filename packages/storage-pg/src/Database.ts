import { type PgConnection, PgPool } from "@effect/sql-pg"
import type { Storage } from "@quotewire/core"
import { Cause, Effect, Exit, FiberSet, type Redacted, type Scope } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { types } from "./columns.ts"
import * as Deadlines from "./Deadlines.ts"
import { inRealTime } from "./inRealTime.ts"
import { refused, unavailable } from "./StatementRefused.ts"

/** Where the database is, and how much of it a process may take. */
export interface DatabaseOptions {
  /** `postgres://user:password@host:port/database`. */
  readonly url: Redacted.Redacted<string>
  /** Connections for single reads, which share them; 2. */
  readonly read_connections?: number
  /** Connections for everything else; 6. */
  readonly write_connections?: number
  /** The longest a statement waits for a connection and its answer together, and a call for its statement; 10. */
  readonly call_seconds?: number
  /** The longest the server works at a statement; 8. */
  readonly statement_seconds?: number
  /** The longest that opening a connection takes; 5. */
  readonly connect_seconds?: number
}

type Rows = ReadonlyArray<PgConnection.Row>

/** Statements to one database: each answers, or fails with `StorageUnavailable`, within a bound. */
export interface Database {
  /** The longest that a statement takes, or waits. */
  readonly call_ms: number
  /** A statement that only reads; many share a connection. */
  readonly read: (sql: string, params: ReadonlyArray<unknown>) => Effect.Effect<Rows, Storage.StorageUnavailable>
  /** A statement that has a connection of its own while it runs. */
  readonly write: (sql: string, params: ReadonlyArray<unknown>) => Effect.Effect<Rows, Storage.StorageUnavailable>
}

/** What every connection has in common. */
export const connectionOf = (options: DatabaseOptions): PgConnection.Config => ({
  url: options.url,
  types,
  applicationName: "quotewire",
  connectTimeout: `${options.connect_seconds ?? 5} seconds`,
  keepAlive: "10 seconds",
  startupParameters: {
    statement_timeout: `${(options.statement_seconds ?? 8) * 1_000}`,
    // Planned once for each connection: what has arrays in it would be planned for every few of them anew.
    plan_cache_mode: "force_generic_plan"
  },
  // A page of the feed can be large.
  maxMessageSize: 256 * 1_024 * 1_024
})

/** Opens pools; connections are made when they are needed, and made again when they are lost. */
export const make = Effect.fnUntraced(function* (
  options: DatabaseOptions
): Effect.fn.Return<Database, SqlError, Scope.Scope> {
  const connection = connectionOf(options)
  const reads = yield* PgPool.make({ ...connection, multiplex: true, maxConnections: options.read_connections ?? 2 })
  const writes = yield* PgPool.make({ ...connection, maxConnections: options.write_connections ?? 6 })
  const call_ms = (options.call_seconds ?? 10) * 1_000
  const deadlines = yield* inRealTime(Deadlines.make(call_ms))
  const run = yield* inRealTime(FiberSet.makeRuntime())

  /**
   * Runs a statement in a fiber of its own, so that nobody waits until it has been called off: it is when its time is over,
   * and a read also when its caller has gone.
   */
  const send = (
    statement: Effect.Effect<PgConnection.Result, SqlError>,
    { isRead, giveUp }: { readonly isRead: boolean; readonly giveUp: Effect.Effect<void> }
  ) =>
    Effect.callback<Rows, SqlError | Storage.StorageUnavailable>((resume) => {
      const fiber = run(statement)
      const deadline = deadlines.begin(() => {
        resume(Effect.fail(unavailable))
        run(giveUp)
        fiber.interruptUnsafe()
      })
      fiber.addObserver((exit) => {
        deadlines.keep(deadline)
        resume(answerOf(exit))
      })
      return isRead ? Effect.sync(() => fiber.interruptUnsafe()) : undefined
    }).pipe(Effect.catchTag("SqlError", refused))

  return {
    call_ms,
    read: (sql, params) =>
      Effect.suspend(() => {
        let used: PgConnection.PgConnection | null = null
        const statement = reads.use((connection) => {
          used = connection
          return connection.query(sql, params)
        })
        // The server ends a statement sooner than that: this connection is dead, and nobody else should get it.
        const giveUp = Effect.suspend(() => (used === null ? Effect.void : reads.invalidate(used)))
        return send(statement, { isRead: true, giveUp })
      }),
    write: (sql, params) =>
      send(
        writes.use((connection) => connection.query(sql, params)),
        { isRead: false, giveUp: Effect.void }
      )
  }
})

/** The rows; a statement that was called off has none, since its storage is closed. */
const answerOf = (exit: Exit.Exit<PgConnection.Result, SqlError>) =>
  Exit.isSuccess(exit)
    ? Effect.succeed(exit.value.rows)
    : Cause.hasInterruptsOnly(exit.cause)
      ? Effect.fail(unavailable)
      : Effect.failCause(exit.cause)
