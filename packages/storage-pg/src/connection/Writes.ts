import { randomUUID } from "node:crypto"
import { type PgConnection, PgPool } from "@effect/sql-pg"
import { Effect, type Fiber, FiberSet, Schema, type Scope } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { rowsReader, someRowsReader } from "../rows/Columns.ts"
import { query } from "../sql/files.ts"
import { inRealTime } from "./inRealTime.ts"
import { answerOf, type Send } from "./Send.ts"
import { unavailable } from "./StatementRefused.ts"

/** How often to ask the server about overdue statements, in milliseconds. */
const askEveryMs = 1_000

const Name = Schema.Struct({ name: Schema.String })
const readName = someRowsReader(Name)
const readNames = rowsReader(Name)

/** A statement, and the name by which the server knows it while it runs. */
interface Named {
  readonly sql: string
  readonly name: string
}

/** How to tell which statements the server still runs. */
export interface Naming {
  /** Names a statement before it is sent on a connection. */
  readonly named: (connection: PgConnection.PgConnection, sql: string) => Effect.Effect<Named, SqlError>
  /** Returns those of the names $1 whose statements the server runs. */
  readonly active: string
}

/**
 * Names a statement after the server process behind its connection, which is asked once. On connect, a pooler in between
 * would report its own number.
 */
export const byProcess = (): Naming => {
  const known = new WeakMap<PgConnection.PgConnection, string>()
  return {
    named: Effect.fnUntraced(function* (connection: PgConnection.PgConnection, sql: string) {
      const found = known.get(connection)
      if (found !== undefined) return { sql, name: found }
      const [{ name }] = readName((yield* connection.query("select pg_backend_pid()::text as name")).rows)
      known.set(connection, name)
      return { sql, name }
    }),
    active: "select pid::text as name from pg_stat_activity where pid = any($1::text::integer[]) and state = 'active'"
  }
}

/** Names a statement in a comment, because a pooler may send each to a different server process. */
export const byComment: Naming = {
  named: (_connection, sql) =>
    Effect.sync(() => {
      const name = randomUUID()
      return { sql: `/* ${name} */ ${sql}`, name }
    }),
  active: query("active_by_comment")
}

interface Options {
  readonly call_ms: number
  /** The maximum number of statements that can run concurrently. */
  readonly connections: number
  readonly naming: Naming
  /** Sends a query to the server. */
  readonly read: Send
}

/** A call that waits for its statement. */
type Sending = Fiber.Fiber<unknown, unknown>

/** A statement that was sent on an exclusive connection. */
interface Sent {
  readonly connection: PgConnection.PgConnection
  readonly name: string
}

/**
 * Sends write statements, each on an exclusive connection, and never cancels one.
 *
 * A commit may wait for a synchronous standby. If its statement is cancelled, PostgreSQL ends the wait and makes the
 * commit visible, although it would be lost if the standby were promoted. So when a call times out, the caller gets
 * `StorageUnavailable`, and the statement keeps its connection until the server ends it. While all connections are
 * occupied this way, calls fail immediately.
 *
 * If the server no longer runs such a statement, its connection is dead and is closed.
 */
export const make = Effect.fnUntraced(function* (
  config: PgPool.Config,
  { call_ms, connections, naming, read }: Options
): Effect.fn.Return<Send, SqlError, Scope.Scope> {
  // On a multiplexed connection, interrupting a statement does not cancel it, even when the pool closes.
  const exclusive = { multiplex: true, multiplexConcurrency: 1 }
  const pool = yield* PgPool.make({ ...config, ...exclusive, maxConnections: connections })
  const run = yield* inRealTime(FiberSet.makeRuntime())

  /** Stops waiting for a statement without cancelling it on the server. */
  const abandon = (fiber: Sending, used: PgConnection.PgConnection | null) =>
    Effect.andThen(
      used === null ? Effect.void : pool.invalidate(used),
      Effect.sync(() => fiber.interruptUnsafe())
    )
  const overdue = new Map<Sending, Sent>()
  const watch = watchOverdue(overdue, (names) => read(naming.active, [names]), abandon)
  let isWatched = false
  const keep = (fiber: Sending, sent: Sent) => {
    overdue.set(fiber, sent)
    if (isWatched) return
    isWatched = true
    const ended = Effect.sync(() => {
      isWatched = false
    })
    run(Effect.ensuring(watch, ended))
  }

  return (sql, params) =>
    Effect.callback((resume) => {
      if (overdue.size >= connections) return resume(Effect.fail(unavailable))
      let used: PgConnection.PgConnection | null = null
      let sent: Sent | null = null
      const statement = pool.use((connection) => {
        used = connection
        return Effect.flatMap(naming.named(connection, sql), (named) => {
          sent = { connection, name: named.name }
          return connection.query(named.sql, params)
        })
      })
      const fiber = run(statement)
      const expire = Effect.sync(() => {
        resume(Effect.fail(unavailable))
        if (sent === null) run(abandon(fiber, used))
        else keep(fiber, sent)
      })
      const deadline = run(Effect.delay(expire, call_ms))
      fiber.addObserver((exit) => {
        deadline.interruptUnsafe()
        overdue.delete(fiber)
        resume(answerOf(exit))
      })
    })
})

/** Asks the server about overdue statements until none are left, and abandons those that it no longer runs. */
const watchOverdue = (
  overdue: ReadonlyMap<Sending, Sent>,
  ask: (names: string) => ReturnType<Send>,
  abandon: (fiber: Sending, used: PgConnection.PgConnection) => Effect.Effect<void>
): Effect.Effect<void> => {
  const abandonDead = Effect.gen(function* () {
    const asked = [...overdue]
    const names = asked.map(([, { name }]) => name)
    const active = new Set(readNames(yield* ask(`{${names}}`)).map(({ name }) => name))
    for (const [fiber, { connection, name }] of asked) if (!active.has(name)) yield* abandon(fiber, connection)
  })
  return Effect.gen(function* () {
    while (overdue.size > 0) {
      yield* Effect.sleep(askEveryMs)
      yield* Effect.ignore(abandonDead)
    }
  })
}
