import { type PgConnection, PgPool } from "@effect/sql-pg"
import type { Storage } from "@quotewire/core"
import { Cause, Effect, Exit, FiberSet, type Redacted, type Scope } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { wireTypes } from "../rows/wireTypes.ts"
import { type Engine, planCacheMode } from "./Engine.ts"
import { inRealTime } from "./inRealTime.ts"
import { unavailable } from "./StatementRefused.ts"
import { default_schema, inSchema } from "./schemaName.ts"

/** The address of the database, and how much of it a process may use. */
export interface DatabaseOptions {
  /** `postgres://user:password@host:port/database`. */
  readonly url: Redacted.Redacted<string>
  /** The schema with the tables, lower-case letters, digits and underscores; `quotewire` by default. */
  readonly schema?: string
  /** Connections for single reads, which share them; 2 by default. */
  readonly read_connections?: number
  /** Connections for everything else; 6 by default. */
  readonly write_connections?: number
  /** The longest wait of a call for its statement, and of a statement for a connection and its answer; 10 by default. */
  readonly call_seconds?: number
  /** How long the server may work on a statement; 8 by default. */
  readonly statement_seconds?: number
  /** How long opening a connection may take; 5 by default. */
  readonly connect_seconds?: number
}

export type Rows = ReadonlyArray<PgConnection.Row>

/** Runs a statement, and returns its rows within a time limit. It fails with `StorageUnavailable` if there are none by then. */
export type Send = (
  sql: string,
  params: ReadonlyArray<unknown>
) => Effect.Effect<Rows, SqlError | Storage.StorageUnavailable>

/** Connections to one place of a database. */
export interface Pools {
  /** The schema with the tables. Statements are written for `quotewire`, and sent for this one. */
  readonly schema: string
  /** The longest time of a statement, and the longest wait of a call for its statement. */
  readonly call_ms: number
  /** Runs a statement that only reads. Many share a connection. */
  readonly read: Send
  /** Runs a statement that has a connection to itself. */
  readonly write: Send
}

/** The settings of every connection. */
export const connectionOf = (options: DatabaseOptions, engine: Engine = "postgresql"): PgConnection.Config => ({
  url: options.url,
  types: wireTypes,
  applicationName: "quotewire",
  connectTimeout: `${options.connect_seconds ?? 5} seconds`,
  keepAlive: "10 seconds",
  startupParameters: {
    statement_timeout: `${(options.statement_seconds ?? 8) * 1_000}`,
    plan_cache_mode: planCacheMode(engine)
  },
  // A page of the feed can be large.
  maxMessageSize: 256 * 1_024 * 1_024
})

/** Opens pools. Connections are opened when they are needed, and again when they are lost. */
export const make = Effect.fnUntraced(function* (
  options: DatabaseOptions,
  engine: Engine
): Effect.fn.Return<Pools, SqlError, Scope.Scope> {
  const connection = connectionOf(options, engine)
  const schema = options.schema ?? default_schema
  const rewrite = inSchema(schema)
  const reads = yield* PgPool.make({ ...connection, multiplex: true, maxConnections: options.read_connections ?? 2 })
  const writes = yield* PgPool.make({ ...connection, maxConnections: options.write_connections ?? 6 })
  const call_ms = (options.call_seconds ?? 10) * 1_000
  const run = yield* inRealTime(FiberSet.makeRuntime())

  /**
   * Runs a statement in its own fiber, so that nobody waits for its cancellation. It is cancelled when its time is over, even
   * if its caller is gone, and a read also when its caller is interrupted.
   */
  const send = (
    statement: Effect.Effect<PgConnection.Result, SqlError>,
    { isRead, giveUp }: { readonly isRead: boolean; readonly giveUp: Effect.Effect<void> }
  ) =>
    Effect.callback<Rows, SqlError | Storage.StorageUnavailable>((resume) => {
      const fiber = run(statement)
      const expire = Effect.sync(() => {
        resume(Effect.fail(unavailable))
        run(giveUp)
        fiber.interruptUnsafe()
      })
      const deadline = run(Effect.delay(expire, call_ms))
      fiber.addObserver((exit) => {
        deadline.interruptUnsafe()
        resume(answerOf(exit))
      })
      return isRead ? Effect.sync(() => fiber.interruptUnsafe()) : undefined
    })

  return {
    schema,
    call_ms,
    read: (sql, params) =>
      Effect.suspend(() => {
        let used: PgConnection.PgConnection | null = null
        const statement = reads.use((connection) => {
          used = connection
          return connection.query(rewrite(sql), params)
        })
        // The server ends a statement before that, so this connection is dead. Remove it, so that nobody else gets it.
        const giveUp = Effect.suspend(() => (used === null ? Effect.void : reads.invalidate(used)))
        return send(statement, { isRead: true, giveUp })
      }),
    write: (sql, params) =>
      send(
        writes.use((connection) => connection.query(rewrite(sql), params)),
        { isRead: false, giveUp: Effect.void }
      )
  }
})

/** The rows. If the statement was cancelled, the storage is closed, so it is unavailable. */
const answerOf = (exit: Exit.Exit<PgConnection.Result, SqlError>) =>
  Exit.isSuccess(exit)
    ? Effect.succeed(exit.value.rows)
    : Cause.hasInterruptsOnly(exit.cause)
      ? Effect.fail(unavailable)
      : Effect.failCause(exit.cause)
