import { randomUUID } from "node:crypto"
import { type PgConnection, PgPool } from "@effect/sql-pg"
import { Effect, type Fiber, FiberSet, Schema, type Scope } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { rowsReader, someRowsReader } from "../rows/Columns.ts"
import { query } from "../sql/files.ts"
import { inRealTime } from "./inRealTime.ts"
import { answerOf, type SendStatement } from "./Send.ts"
import { unavailable } from "./StatementRefused.ts"

/** How often to ask the server about overdue statements, in milliseconds. */
const askEveryMs = 1_000

const Name = Schema.Struct({ name: Schema.String })
const readName = someRowsReader(Name)
const readNames = rowsReader(Name)

/** A statement, and the name by which the server identifies it while it runs. */
interface NamedStatement {
  readonly sql: string
  readonly name: string
}

/** How to find out which statements the server is still running. */
export interface Naming {
  /** Names a statement before it is sent on a connection. */
  readonly named: (connection: PgConnection.PgConnection, sql: string) => Effect.Effect<NamedStatement, SqlError>
  /** The query that returns the names in $1 of the statements that the server is running. */
  readonly active: string
}

/**
 * Names a statement after the server process of its connection. Each connection is asked once for its process, because
 * the process ID that it got when it connected may be a pooler's own.
 */
export const byProcess = (): Naming => {
  const names = new WeakMap<PgConnection.PgConnection, string>()
  return {
    named: Effect.fnUntraced(function* (connection: PgConnection.PgConnection, sql: string) {
      const knownName = names.get(connection)
      if (knownName !== undefined) return { sql, name: knownName }
      const [{ name }] = readName((yield* connection.query("select pg_backend_pid()::text as name")).rows)
      names.set(connection, name)
      return { sql, name }
    }),
    active: "select pid::text as name from pg_stat_activity where pid = any($1::text::integer[]) and state = 'active'"
  }
}

/** Names a statement in a comment, because a pooler may send each statement to a different server process. */
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
  readonly read: SendStatement
}

/** The fiber of a call that waits for its statement. */
type SendingFiber = Fiber.Fiber<unknown, unknown>

/** A statement that was sent on its own connection. */
interface SentStatement {
  readonly connection: PgConnection.PgConnection
  readonly name: string
}

/**
 * Sends write statements, each on a connection of its own, and never cancels one.
 *
 * A commit may wait for a synchronous standby. If its statement is cancelled, PostgreSQL ends the wait and makes the
 * commit visible, although it would be lost if the standby were promoted. So when a call times out, the caller gets
 * `StorageUnavailable`, and the statement keeps its connection until the server has ended it. While all connections are
 * occupied by such statements, calls fail immediately.
 *
 * If the server is no longer running such a statement, the statement's connection is dead and is closed.
 */
export const make = Effect.fnUntraced(function* (
  config: PgPool.Config,
  { call_ms, connections, naming, read }: Options
): Effect.fn.Return<SendStatement, SqlError, Scope.Scope> {
  // Makes the connections "multiplexed", each for one statement at a time. Interrupting a statement on such a
  // connection does not cancel it, even when the pool closes.
  const exclusive = { multiplex: true, multiplexConcurrency: 1 }
  const pool = yield* PgPool.make({ ...config, ...exclusive, maxConnections: connections })
  const run = yield* inRealTime(FiberSet.makeRuntime())

  /** Stops waiting for a statement. Does not cancel it on the server. */
  const abandon = (fiber: SendingFiber, used: PgConnection.PgConnection | null) =>
    Effect.andThen(
      used === null ? Effect.void : pool.invalidate(used),
      Effect.sync(() => fiber.interruptUnsafe())
    )
  const overdue = new Map<SendingFiber, SentStatement>()
  const watch = watchOverdue(overdue, (names) => read(naming.active, [names]), abandon)
  let isWatched = false
  const keep = (fiber: SendingFiber, statement: SentStatement) => {
    overdue.set(fiber, statement)
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
      let sentStatement: SentStatement | null = null
      const statement = pool.use((connection) => {
        used = connection
        return Effect.flatMap(naming.named(connection, sql), (namedStatement) => {
          sentStatement = { connection, name: namedStatement.name }
          return connection.query(namedStatement.sql, params)
        })
      })
      const fiber = run(statement)
      const expire = Effect.sync(() => {
        resume(Effect.fail(unavailable))
        if (sentStatement === null) run(abandon(fiber, used))
        else keep(fiber, sentStatement)
      })
      const deadline = run(Effect.delay(expire, call_ms))
      fiber.addObserver((exit) => {
        deadline.interruptUnsafe()
        overdue.delete(fiber)
        resume(answerOf(exit))
      })
    })
})

/**
 * Asks the server about overdue statements until no statement is overdue. Abandons statements that the server is no
 * longer running.
 */
const watchOverdue = (
  overdue: ReadonlyMap<SendingFiber, SentStatement>,
  ask: (names: string) => ReturnType<SendStatement>,
  abandon: (fiber: SendingFiber, used: PgConnection.PgConnection) => Effect.Effect<void>
): Effect.Effect<void> => {
  const abandonDead = Effect.gen(function* () {
    const overdueStatements = [...overdue]
    const names = overdueStatements.map(([, { name }]) => name)
    const active = new Set(readNames(yield* ask(`{${names}}`)).map(({ name }) => name))
    for (const [fiber, { connection, name }] of overdueStatements)
      if (!active.has(name)) yield* abandon(fiber, connection)
  })
  return Effect.gen(function* () {
    while (overdue.size > 0) {
      yield* Effect.sleep(askEveryMs)
      yield* Effect.ignore(abandonDead)
    }
  })
}
