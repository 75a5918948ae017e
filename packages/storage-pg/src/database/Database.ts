import type { PgConnection } from "@effect/sql-pg"
import type { Storage } from "@quotewire/core"
import { Cause, Effect, Exit, Fiber, FiberSet, type Redacted, Schedule, Scope } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { DatabaseRefused } from "../connection/DatabaseRefused.ts"
import { inRealTime } from "../connection/inRealTime.ts"
import * as Pooler from "../connection/Pooler.ts"
import * as Pools from "../connection/Pools.ts"
import type { Rows } from "../connection/Send.ts"
import type { RunStatement as SessionRun } from "../connection/Session.ts"
import { type Engine, isLost, isWithoutTables, refused, unavailable } from "../connection/StatementRefused.ts"
import * as DatabaseSchema from "../migrations/Schema.ts"

type RunStatement = (sql: string, params: ReadonlyArray<unknown>) => Effect.Effect<Rows, Storage.StorageUnavailable>

/** Runs an action for the current location of a database, with the settings for connecting to it. */
export type AtPlace<E> = (connection: PgConnection.Config) => Effect.Effect<void, E, Scope.Scope>

/**
 * Runs statements in one database. Each statement returns, or fails with `StorageUnavailable`, within a time limit.
 *
 * If the database moves to another server, statements fail over. A statement that does not find its tables has not run,
 * so it is retried at the new location.
 */
export interface Database {
  /** The schema that contains the tables. Statements are written for `quotewire` and rewritten for this schema. */
  readonly schema: string
  /** How long a statement may take, and how long a call may wait for it, in milliseconds. */
  readonly call_ms: number
  /** Runs a read-only statement. Several statements share a connection. */
  readonly read: RunStatement
  /** Runs a statement on its own connection. */
  readonly write: RunStatement
}

/** A database that can move, with a hook for actions that must run at its current location. */
export interface PlacedDatabase extends Database {
  /** Runs an action now, and again after each move of the database. The action's scope closes at the next move. */
  readonly atEachPlace: <E>(use: AtPlace<E>) => Effect.Effect<void, E>
}

/** How to find a database, and which engine manages its schema. */
export interface Site {
  /** Finds the address of the database's current location. */
  readonly find: Effect.Effect<Redacted.Redacted<string>, DatabaseRefused>
  /** Determines the engine of the schema at the current location. Fails if this program cannot use the schema. */
  readonly engineOf: (run: SessionRun) => Effect.Effect<Engine, SqlError | DatabaseRefused>
  /** Whether the database may be at a different location if its last known location does not respond. */
  readonly can_move: boolean
}

/** The pools at the database's current location. */
interface CurrentEndpoint {
  readonly url: Redacted.Redacted<string>
  readonly engine: Engine
  readonly connection: PgConnection.Config
  readonly pools: Pools.Pools
  readonly scope: Scope.Closeable
}

/** How many times a statement is retried if its tables are not found. */
const maxRetries = 3
/** The pause before retrying an action of `atEachPlace`, in milliseconds. */
const retryUseMs = 1_000
/** The shortest time between two searches for a database whose location does not respond, in milliseconds. */
const suspectEveryMs = 1_000

/** The current location of a database, and what to do if the database may have moved. */
interface Following extends Pick<PlacedDatabase, "atEachPlace"> {
  readonly current: () => CurrentEndpoint
  /** Searches for the database, unless it was already found again after these pools were used. */
  readonly follow: (used: CurrentEndpoint) => Effect.Effect<void, Storage.StorageUnavailable>
  /** Searches for the database at its other location. Called if the current location does not respond. */
  readonly suspectMove: () => void
}

/** Opens connection pools at a database's current location, and new ones after each move. */
const followSite = Effect.fnUntraced(function* (
  options: Pools.DatabaseOptions,
  { can_move, engineOf, find }: Site
): Effect.fn.Return<Following, SqlError | DatabaseRefused, Scope.Scope> {
  const scope = yield* Effect.scope
  const run = yield* inRealTime(FiberSet.makeRuntime())
  const uses: Array<AtPlace<unknown>> = []
  const openAt = Effect.fnUntraced(function* (url: Redacted.Redacted<string>) {
    const at = { ...options, url }
    yield* Pooler.check(at)
    const engine = yield* DatabaseSchema.examine(at, engineOf)
    const ownScope = yield* Scope.fork(scope)
    const pools = yield* Scope.provide(Pools.make(at, engine), ownScope)
    return { url, engine, connection: yield* Pools.connectionOf(at, engine), pools, scope: ownScope }
  })
  // Uses a separate scope, because a failed attempt must leave nothing behind for the next attempt.
  const useAt = Effect.fnUntraced(function* <E>(
    action: AtPlace<E>,
    endpoint: CurrentEndpoint
  ): Effect.fn.Return<void, E> {
    const ownScope = yield* Scope.fork(endpoint.scope)
    yield* Effect.onError(Scope.provide(action(endpoint.connection), ownScope), (cause) =>
      Scope.close(ownScope, Exit.failCause(cause))
    )
  })

  let current: CurrentEndpoint = yield* openAt(yield* find)

  const failOver = Effect.fnUntraced(function* (url: Redacted.Redacted<string>) {
    const previous = current
    current = yield* openAt(url)
    yield* Effect.logInfo("The database has moved; switched to the new database")
    // Delays closing the old pools, so that reads that are still running on them can finish.
    run(Effect.delay(Scope.close(previous.scope, Exit.void), previous.pools.call_ms))
    const here = current
    const again = { schedule: Schedule.spaced(retryUseMs), while: () => here === current }
    for (const action of uses) run(Effect.ignoreCause(Effect.retry(useAt(action, here), again), { log: "Warn" }))
  })

  const followMove = Effect.flatMap(find, (url) => (url === current.url ? Effect.void : failOver(url)))
  const refresh = coalesced(
    run,
    Effect.mapError(logRefusals(followMove), () => unavailable)
  )
  const refreshRarely = coalesced(run, Effect.andThen(Effect.ignore(refresh), Effect.sleep(suspectEveryMs)))

  return {
    current: () => current,
    follow: (used) => Effect.suspend(() => (used === current ? refresh : Effect.void)),
    suspectMove: () => {
      if (can_move) run(refreshRarely)
    },
    atEachPlace: (action) =>
      Effect.suspend(() => {
        uses.push(action)
        return useAt(action, current)
      })
  }
})

/** Logs why a search fails. Consecutive failures for the same reason are logged once. */
const logRefusals = <A, E>(search: Effect.Effect<A, DatabaseRefused | E>): Effect.Effect<A, DatabaseRefused | E> => {
  let refusal: string | null = null
  const log = ({ message }: DatabaseRefused) =>
    Effect.suspend(() => {
      if (refusal === message) return Effect.void
      refusal = message
      return Effect.logError("None of the configured databases can be used").pipe(Effect.annotateLogs({ why: message }))
    })
  const forget = Effect.sync(() => {
    refusal = null
  })
  return Effect.tap(search, forget).pipe(
    Effect.tapError((error) => (error instanceof DatabaseRefused ? log(error) : Effect.void))
  )
}

/** Opens a database at its current location. */
export const make = Effect.fnUntraced(function* (
  options: Pools.DatabaseOptions,
  site: Site
): Effect.fn.Return<PlacedDatabase, SqlError | DatabaseRefused, Scope.Scope> {
  const { atEachPlace, current, follow, suspectMove } = yield* followSite(options, site)

  const statement =
    (access: "read" | "write", retries: number): RunStatement =>
    (sql, params) =>
      Effect.suspend(() => {
        const used = current()
        return Effect.catchTags(used.pools[access](sql, params), {
          SqlError: (error) => {
            if (retries > 0 && isWithoutTables(error)) {
              return Effect.andThen(follow(used), statement(access, retries - 1)(sql, params))
            }
            if (isLost(error)) suspectMove()
            return refused(error, used.engine)
          },
          StorageUnavailable: (error) => {
            suspectMove()
            return Effect.fail(error)
          }
        })
      })

  return {
    schema: current().pools.schema,
    call_ms: current().pools.call_ms,
    read: statement("read", maxRetries),
    write: statement("write", maxRetries),
    atEachPlace
  }
})

type Fork = <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>

/**
 * Makes concurrent callers share one run of the effect. An interrupted run counts as unavailable storage, because only
 * closing the storage interrupts it.
 */
const coalesced = (run: Fork, effect: Effect.Effect<void, Storage.StorageUnavailable>) => {
  let running: Fiber.Fiber<void, Storage.StorageUnavailable> | null = null
  return Effect.suspend(() => {
    const fiber = running ?? run(effect)
    if (running === null) {
      running = fiber
      fiber.addObserver(() => {
        running = null
      })
    }
    return Effect.flatMap(Fiber.await(fiber), (exit) =>
      Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause) ? Effect.fail(unavailable) : exit
    )
  })
}
