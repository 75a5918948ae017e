import { hostname } from "node:os"
import { pid } from "node:process"
import { type PgConnection, PgPool } from "@effect/sql-pg"
import { Effect, FiberSet, type Redacted, type Scope } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { wireTypes } from "../rows/wireTypes.ts"
import { defaultSchema, inSchema } from "./Address.ts"
import type { DatabaseRefused } from "./DatabaseRefused.ts"
import { inRealTime } from "./inRealTime.ts"
import { answerOf, type SendStatement } from "./Send.ts"
import { type Engine, unavailable } from "./StatementRefused.ts"
import { type TlsOptions, tlsOf } from "./Tls.ts"
import * as Writes from "./Writes.ts"

/**
 * The name under which operators see this process in PostgreSQL. PostgreSQL truncates names to 63 bytes, so the end of
 * a long host name is cut off.
 */
const applicationName = `quotewire ${pid}@${hostname()}`.slice(0, 63)

/**
 * How long a pool keeps a connection that nobody uses. An idle host compares clocks and looks for old data every
 * minute. A timeout of more than a minute saves it from reconnecting each time.
 */
const idleTimeout = "150 seconds"

/** The database's URL, and the limits for this process. */
export interface DatabaseOptions {
  /** `postgres://user:password@host:port/database`. */
  readonly url: Redacted.Redacted<string>
  /**
   * The URL of a pooler in transaction mode in front of the database. Reads and writes go through it. Migrations and
   * the one connection that listens use `url`, which must lead to the server itself or through a pooler in session
   * mode.
   */
  readonly pooler_url?: Redacted.Redacted<string>
  /** Certificates as text. `sslmode` and the names of certificate files are parameters of `url`. */
  readonly tls?: TlsOptions
  /** The schema that contains the tables: lower-case letters, digits and underscores; `quotewire` by default. */
  readonly schema?: string
  /** The number of connections that all reads share; 2 by default. */
  readonly read_connections?: number
  /** The number of connections for everything except reads; 6 by default. */
  readonly write_connections?: number
  /**
   * How long a call may wait for its statement, in seconds; 10 by default. The same limit applies to the statement
   * itself, including its wait for a connection.
   */
  readonly call_seconds?: number
  /**
   * How long a statement may run on the server, in seconds; 8 by default. Through a pooler, the database user's own
   * settings apply instead.
   */
  readonly statement_seconds?: number
  /** How long opening a connection may take, in seconds; 5 by default. */
  readonly connect_seconds?: number
}

/** Connections to a database at one location. */
export interface Pools {
  /** The schema that contains the tables. Statements are written for `quotewire` and rewritten for this schema. */
  readonly schema: string
  /** How long a statement may take, and how long a call may wait for it, in milliseconds. */
  readonly call_ms: number
  /** Runs a read-only statement. Several statements share a connection. */
  readonly read: SendStatement
  /** Runs a statement on its own connection. The statement is never cancelled, because it may be committing. */
  readonly write: SendStatement
}

/** The settings of every connection. */
export const connectionOf = Effect.fnUntraced(function* (
  options: DatabaseOptions,
  engine: Engine = "postgresql"
): Effect.fn.Return<PgConnection.Config, DatabaseRefused> {
  const startupParameters = {
    statement_timeout: `${(options.statement_seconds ?? 8) * 1_000}`,
    plan_cache_mode: planCacheMode(engine)
  }
  return { ...(yield* settingsOf(options)), startupParameters }
})

/**
 * The settings of a connection whose statements may each run in a different session of the server. Therefore it
 * prepares no statements and changes no session settings.
 */
export const sharedConnectionOf = Effect.fnUntraced(function* (
  options: DatabaseOptions,
  pooler_url: Redacted.Redacted<string>
): Effect.fn.Return<PgConnection.Config, DatabaseRefused> {
  return { ...(yield* settingsOf({ ...options, url: pooler_url })), prepare: false }
})

/**
 * How PostgreSQL plans a connection's statements. Unless told to plan once, PostgreSQL replans statements with array
 * parameters nearly every time. Citus sends a call to the server with the tables only if it plans with the values of
 * the call.
 */
const planCacheMode = (engine: Engine): string => (engine === "citus" ? "auto" : "force_generic_plan")

const settingsOf = Effect.fnUntraced(function* (
  options: DatabaseOptions
): Effect.fn.Return<PgConnection.Config, DatabaseRefused> {
  const ssl = yield* tlsOf(options)
  return {
    url: options.url,
    types: wireTypes,
    applicationName,
    connectTimeout: `${options.connect_seconds ?? 5} seconds`,
    keepAlive: "10 seconds",
    // This limit is large enough for the largest page of the event feed.
    maxMessageSize: 256 * 1_024 * 1_024,
    ...(ssl && { ssl })
  }
})

/** Creates pools, which connect on demand and reconnect if a connection is lost. */
export const make = Effect.fnUntraced(function* (
  options: DatabaseOptions,
  engine: Engine
): Effect.fn.Return<Pools, SqlError | DatabaseRefused, Scope.Scope> {
  const { pooler_url } = options
  const isShared = pooler_url !== undefined
  const config = yield* isShared ? sharedConnectionOf(options, pooler_url) : connectionOf(options, engine)
  const schema = options.schema ?? defaultSchema
  const rewrite = inSchema(schema)
  const reads = yield* PgPool.make({
    ...config,
    multiplex: true,
    idleTimeout,
    maxConnections: options.read_connections ?? 2
  })
  const call_ms = (options.call_seconds ?? 10) * 1_000
  const run = yield* inRealTime(FiberSet.makeRuntime())

  /** Runs a statement in its own fiber, so that callers do not wait for its cancellation. */
  const read: SendStatement = (sql, params) =>
    Effect.callback((resume) => {
      let used: PgConnection.PgConnection | null = null
      const fiber = run(
        reads.use((connection) => {
          used = connection
          return connection.query(sql, params)
        })
      )
      const expire = Effect.sync(() => {
        resume(Effect.fail(unavailable))
        // The server would have cancelled the statement by now, so the connection is dead. Remove it from the pool.
        if (used !== null) run(reads.invalidate(used))
        fiber.interruptUnsafe()
      })
      const deadline = run(Effect.delay(expire, call_ms))
      fiber.addObserver((exit) => {
        deadline.interruptUnsafe()
        resume(answerOf(exit))
      })
      return Effect.sync(() => fiber.interruptUnsafe())
    })

  const write = yield* Writes.make(
    { ...config, idleTimeout },
    {
      call_ms,
      connections: options.write_connections ?? 6,
      naming: isShared ? Writes.byComment : Writes.byProcess(),
      read
    }
  )
  return {
    schema,
    call_ms,
    read: (sql, params) => read(rewrite(sql), params),
    write: (sql, params) => write(rewrite(sql), params)
  }
})
