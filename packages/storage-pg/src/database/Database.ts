import type { PgConnection } from "@effect/sql-pg"
import type { Storage } from "@quotewire/core"
import { Cause, Effect, Exit, Fiber, FiberSet, type Redacted, Schedule, Scope } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import type { DatabaseRefused } from "../connection/DatabaseRefused.ts"
import type { Engine } from "../connection/Engine.ts"
import { inRealTime } from "../connection/inRealTime.ts"
import * as Pools from "../connection/Pools.ts"
import { isLost, isWithoutTables, refused, unavailable } from "../connection/StatementRefused.ts"
import * as DatabaseSchema from "../migrations/Schema.ts"
import * as LivePlace from "../places/LivePlace.ts"

type Run = (sql: string, params: ReadonlyArray<unknown>) => Effect.Effect<Pools.Rows, Storage.StorageUnavailable>

/** Runs something at a place, by the settings of connections to it. */
export type AtPlace<E> = (connection: PgConnection.Config) => Effect.Effect<void, E, Scope.Scope>

/**
 * Statements to one database. Each returns, or fails with `StorageUnavailable`, within a time limit.
 *
 * If the database has moved, they fail over: a statement that does not find its tables has not run, and is retried at the new
 * place.
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

/** A database that can move, with hooks for what must run at its current place. */
export interface PlacedDatabase extends Database {
  /** Runs something now, and again whenever the database has moved. Its scope closes when the database moves again. */
  readonly atEachPlace: <E>(use: AtPlace<E>) => Effect.Effect<void, E>
}

/** The pools at the place where the database is now. */
interface Current {
  readonly url: Redacted.Redacted<string>
  readonly engine: Engine
  readonly connection: PgConnection.Config
  readonly pools: Pools.Pools
  readonly scope: Scope.Closeable
}

/** How often a statement is retried because its tables were not found. */
const max_retries = 3
/** The pause before something that runs at each place is retried there. */
const retry_use_ms = 1_000
/** The shortest time between two searches for the database because its place does not answer. */
const suspect_every_ms = 1_000

/** Opens a database at the place where it is now. */
export const make = Effect.fnUntraced(function* (
  options: LivePlace.MovableOptions,
  url: Redacted.Redacted<string>
): Effect.fn.Return<PlacedDatabase, SqlError | DatabaseRefused, Scope.Scope> {
  const scope = yield* Effect.scope
  const run = yield* inRealTime(FiberSet.makeRuntime())
  const uses: Array<AtPlace<unknown>> = []
  const openAt = Effect.fnUntraced(function* (url: Redacted.Redacted<string>) {
    const at = { ...options, url }
    const engine = yield* DatabaseSchema.examine(at)
    const own = yield* Scope.fork(scope)
    const pools = yield* Scope.provide(Pools.make(at, engine), own)
    return { url, engine, connection: Pools.connectionOf(at, engine), pools, scope: own }
  })
  const useAt = <E>(use: AtPlace<E>, { connection, scope }: Current) => Scope.provide(use(connection), scope)

  let current: Current = yield* openAt(url)

  const failOver = Effect.fnUntraced(function* (url: Redacted.Redacted<string>) {
    const left = current
    current = yield* openAt(url)
    yield* Effect.logInfo("The database has moved; this host uses its new place")
    // Reads that are still running there may finish.
    run(Effect.delay(Scope.close(left.scope, Exit.void), left.pools.call_ms))
    const here = current
    const again = { schedule: Schedule.spaced(retry_use_ms), while: () => here === current }
    for (const use of uses) run(Effect.ignoreCause(Effect.retry(useAt(use, here), again), { log: "Warn" }))
  })

  let refusal: string | null = null
  const logRefusal = ({ message }: DatabaseRefused) =>
    Effect.suspend(() => {
      if (refusal === message) return Effect.void
      refusal = message
      return Effect.logError("The database cannot be used at any place that the settings name").pipe(
        Effect.annotateLogs({ why: message })
      )
    })

  const findAgain = LivePlace.find(options).pipe(
    Effect.flatMap((url) => (url === current.url ? Effect.void : failOver(url))),
    Effect.andThen(
      Effect.sync(() => {
        refusal = null
      })
    ),
    Effect.tapErrorTag("DatabaseRefused", logRefusal),
    Effect.mapError(() => unavailable)
  )

  const refresh = coalesced(run, findAgain)
  const follow = (used: Current) => Effect.suspend(() => (used === current ? refresh : Effect.void))
  const refreshRarely = coalesced(run, Effect.andThen(Effect.ignore(refresh), Effect.sleep(suspect_every_ms)))
  /** Looks for the database elsewhere: if a place does not answer, the database may have moved. */
  const suspectMove = () => {
    if (options.moves_to !== undefined) run(refreshRarely)
  }

  const statement =
    (how: "read" | "write", retries: number): Run =>
    (sql, params) =>
      Effect.suspend(() => {
        const used = current
        return Effect.catchTags(used.pools[how](sql, params), {
          SqlError: (error) => {
            if (retries > 0 && isWithoutTables(error)) {
              return Effect.andThen(follow(used), statement(how, retries - 1)(sql, params))
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
    schema: current.pools.schema,
    call_ms: current.pools.call_ms,
    read: statement("read", max_retries),
    write: statement("write", max_retries),
    atEachPlace: (use) =>
      Effect.suspend(() => {
        uses.push(use)
        return useAt(use, current)
      })
  }
})

type Fork = <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>

/** Callers at the same time share one run of the effect. If it is interrupted, the storage is closed, so it is unavailable. */
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
