import type { PgConnection } from "@effect/sql-pg"
import type { Storage } from "@quotewire/core"
import { Cause, Effect, Exit, Fiber, FiberSet, type Redacted, Schedule, Scope } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import type { Engine } from "../citus/Engine.ts"
import * as DatabaseSchema from "../migrations/Schema.ts"
import * as LivePlace from "../moves/LivePlace.ts"
import type { DatabaseRefused } from "./DatabaseRefused.ts"
import { inRealTime } from "./inRealTime.ts"
import * as Pools from "./Pools.ts"
import { isLost, isWithoutTables, refused, unavailable } from "./StatementRefused.ts"

type Run = (sql: string, params: ReadonlyArray<unknown>) => Effect.Effect<Pools.Rows, Storage.StorageUnavailable>

/** Runs something at a place, by the settings of connections to it. */
export type AtPlace<E> = (connection: PgConnection.Config) => Effect.Effect<void, E, Scope.Scope>

/**
 * Statements to one database. Each returns, or fails with `StorageUnavailable`, within a time limit.
 *
 * If the database moves, they follow it: a statement that no longer finds the tables was not run, and runs at the new place.
 */
export interface Database {
  /** The schema with the tables. Statements are written for `quotewire`, and sent for this one. */
  readonly schema: string
  /** The longest time of a statement, and the longest wait of a call for its statement. */
  readonly call_ms: number
  /** Runs a statement that only reads. Many share a connection. */
  readonly read: Run
  /** Runs a statement that has a connection to itself. */
  readonly write: Run
}

/** A database, and what has to be where it is. */
export interface PlacedDatabase extends Database {
  /** Runs something now, and again whenever the database has moved. Its scope closes when the database moves on. */
  readonly atEachPlace: <E>(use: AtPlace<E>) => Effect.Effect<void, E>
}

/** Pools at the place where the database is. */
interface Current {
  readonly url: Redacted.Redacted<string>
  readonly engine: Engine
  readonly connection: PgConnection.Config
  readonly pools: Pools.Pools
  readonly scope: Scope.Closeable
}

/** How often a statement is run again because its tables were not found. */
const max_follows = 3
/** How often that what runs at each place is tried there. */
const use_again_ms = 1_000
/** How often a place that does not answer is a reason to look at the other one. */
const suspect_every_ms = 1_000

/** Opens a database at the place where it is now. */
export const make = Effect.fnUntraced(function* (
  options: LivePlace.MovableOptions,
  url: Redacted.Redacted<string>
): Effect.fn.Return<PlacedDatabase, SqlError | DatabaseRefused, Scope.Scope> {
  const scope = yield* Effect.scope
  const run = yield* inRealTime(FiberSet.makeRuntime())
  const everywhere: Array<AtPlace<unknown>> = []
  const openAt = Effect.fnUntraced(function* (url: Redacted.Redacted<string>) {
    const at = { ...options, url }
    const engine = yield* DatabaseSchema.examine(at)
    const own = yield* Scope.fork(scope)
    const pools = yield* Scope.provide(Pools.make(at, engine), own)
    return { url, engine, connection: Pools.connectionOf(at, engine), pools, scope: own }
  })
  const useAt = <E>(use: AtPlace<E>, { connection, scope }: Current) => Scope.provide(use(connection), scope)

  let current: Current = yield* openAt(url)

  const moveTo = Effect.fnUntraced(function* (url: Redacted.Redacted<string>) {
    const left = current
    current = yield* openAt(url)
    yield* Effect.logInfo("The database has moved; this host uses its new place")
    // Reads that are under way there may end.
    run(Effect.delay(Scope.close(left.scope, Exit.void), left.pools.call_ms))
    const here = current
    const again = { schedule: Schedule.spaced(use_again_ms), while: () => here === current }
    for (const use of everywhere) run(Effect.ignoreCause(Effect.retry(useAt(use, here), again), { log: "Warn" }))
  })

  let refusal: string | null = null
  const tell = ({ message }: DatabaseRefused) =>
    Effect.suspend(() => {
      if (refusal === message) return Effect.void
      refusal = message
      return Effect.logError("The database cannot be used at any place that the settings name").pipe(
        Effect.annotateLogs({ why: message })
      )
    })

  const look = LivePlace.find(options).pipe(
    Effect.flatMap((url) => (url === current.url ? Effect.void : moveTo(url))),
    Effect.andThen(
      Effect.sync(() => {
        refusal = null
      })
    ),
    Effect.tapErrorTag("DatabaseRefused", tell),
    Effect.mapError(() => unavailable)
  )

  const lookOnce = shared(run, look)
  const follow = (used: Current) => Effect.suspend(() => (used === current ? lookOnce : Effect.void))
  const lookSometimes = shared(run, Effect.andThen(Effect.ignore(lookOnce), Effect.sleep(suspect_every_ms)))
  /** A place that does not answer may be one that the database has left. */
  const suspect = () => {
    if (options.moves_to !== undefined) run(lookSometimes)
  }

  const statement =
    (how: "read" | "write", follows: number): Run =>
    (sql, params) =>
      Effect.suspend(() => {
        const used = current
        return Effect.catchTags(used.pools[how](sql, params), {
          SqlError: (error) => {
            if (follows > 0 && isWithoutTables(error)) {
              return Effect.andThen(follow(used), statement(how, follows - 1)(sql, params))
            }
            if (isLost(error)) suspect()
            return refused(error, used.engine)
          },
          StorageUnavailable: (error) => {
            suspect()
            return Effect.fail(error)
          }
        })
      })

  return {
    schema: current.pools.schema,
    call_ms: current.pools.call_ms,
    read: statement("read", max_follows),
    write: statement("write", max_follows),
    atEachPlace: (use) =>
      Effect.suspend(() => {
        everywhere.push(use)
        return useAt(use, current)
      })
  }
})

type Fork = <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>

/** Runs an effect once for all who want it at the same time. If it is interrupted, the storage is closed, so it is unavailable. */
const shared = (run: Fork, effect: Effect.Effect<void, Storage.StorageUnavailable>) => {
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
