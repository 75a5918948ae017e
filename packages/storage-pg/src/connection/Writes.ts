import { type PgConnection, PgPool } from "@effect/sql-pg"
import { Effect, type Fiber, FiberSet, Schema, type Scope } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { rowsReader, someRowsReader } from "../rows/Columns.ts"
import { inRealTime } from "./inRealTime.ts"
import { answerOf, type Send } from "./Send.ts"
import { unavailable } from "./StatementRefused.ts"

/** How often to ask the server about overdue statements, in milliseconds. */
const askEveryMs = 1_000

const Pid = Schema.Struct({ pid: Schema.Int })
const readPid = someRowsReader(Pid)
const readPids = rowsReader(Pid)
/** Returns the server process behind a connection. On connect, a pooler in between would report its own number. */
const ownPid = "select pg_backend_pid() as pid"
const stillActive = "select pid from pg_stat_activity where pid = any($1::text::integer[]) and state = 'active'"

interface Options {
  readonly call_ms: number
  /** The most statements that can run at once. */
  readonly connections: number
  /** Asks the server something. */
  readonly read: Send
}

/** A call that waits for its statement. */
type Sending = Fiber.Fiber<unknown, unknown>

/** A statement that was sent on an exclusive connection. */
interface Sent {
  readonly connection: PgConnection.PgConnection
  readonly pid: number
}

/**
 * Sends write statements, each on an exclusive connection, and never cancels one.
 *
 * A commit may wait for a synchronous standby. If its statement is cancelled, PostgreSQL ends the wait and makes the
 * commit visible, although it would be lost if the standby were promoted. So when a call times out, the caller gets
 * `StorageUnavailable`, and the statement keeps its connection until the server ends it. While all connections are
 * occupied this way, calls fail at once.
 *
 * If the server no longer runs such a statement, its connection is dead and is closed.
 */
export const make = Effect.fnUntraced(function* (
  config: PgConnection.Config,
  { call_ms, connections, read }: Options
): Effect.fn.Return<Send, SqlError, Scope.Scope> {
  // On a multiplexed connection, interrupting a statement does not cancel it, even when the pool closes.
  const exclusive = { multiplex: true, multiplexConcurrency: 1 }
  const pool = yield* PgPool.make({ ...config, ...exclusive, maxConnections: connections })
  const run = yield* inRealTime(FiberSet.makeRuntime())
  const pidOf = pidsOf()

  /** Stops waiting for a statement without cancelling it on the server. */
  const abandon = (fiber: Sending, used: PgConnection.PgConnection | null) =>
    Effect.andThen(
      used === null ? Effect.void : pool.invalidate(used),
      Effect.sync(() => fiber.interruptUnsafe())
    )
  const overdue = new Map<Sending, Sent>()
  const watch = watchOverdue(overdue, read, abandon)
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
        return Effect.flatMap(pidOf(connection), (pid) => {
          sent = { connection, pid }
          return connection.query(sql, params)
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

/** Finds the server process behind each connection, once per connection. */
const pidsOf = () => {
  const pids = new WeakMap<PgConnection.PgConnection, number>()
  return Effect.fnUntraced(function* (connection: PgConnection.PgConnection) {
    const known = pids.get(connection)
    if (known !== undefined) return known
    const [{ pid }] = readPid((yield* connection.query(ownPid)).rows)
    pids.set(connection, pid)
    return pid
  })
}

/** Asks the server about overdue statements until none are left, and abandons those that it no longer runs. */
const watchOverdue = (
  overdue: ReadonlyMap<Sending, Sent>,
  read: Send,
  abandon: (fiber: Sending, used: PgConnection.PgConnection) => Effect.Effect<void>
): Effect.Effect<void> => {
  const abandonDead = Effect.gen(function* () {
    const asked = [...overdue]
    const pids = asked.map(([, { pid }]) => pid)
    const active = new Set(readPids(yield* read(stillActive, [`{${pids}}`])).map(({ pid }) => pid))
    for (const [fiber, { connection, pid }] of asked) if (!active.has(pid)) yield* abandon(fiber, connection)
  })
  return Effect.gen(function* () {
    while (overdue.size > 0) {
      yield* Effect.sleep(askEveryMs)
      yield* Effect.ignore(abandonDead)
    }
  })
}
