import { Effect, type Scope } from "effect"
import * as Citus from "../citus/Citus.ts"
import type { DatabaseRefused } from "../connection/DatabaseRefused.ts"
import type { DatabaseOptions } from "../connection/Pools.ts"
import type { Listen } from "../hints/Listener.ts"
import * as DatabaseSchema from "../migrations/Schema.ts"
import * as Opening from "../opening/open.ts"
import * as LivePlace from "./LivePlace.ts"
import * as Place from "./Place.ts"

/*
 * A cell's schema, which can move to another database or be distributed by Citus.
 */

/** Options of a storage backend on a database that can move. */
export interface MovableOptions extends Opening.Options, LivePlace.MovableOptions {}

/**
 * Opens the schema at its current location until the scope closes. Its listening connection can be shared with other
 * schemas. Turns any failure into one sentence.
 */
export const open = (
  options: MovableOptions,
  listen: Listen | null = null
): Effect.Effect<Opening.OpenedStorage, DatabaseRefused, Scope.Scope> => {
  const can_move = options.moves_to !== undefined
  return Opening.openAt(options, { find: LivePlace.find(options), engineOf: Citus.usableEngine, can_move }, listen)
}

/** Migrates the schema at its current location. */
export const migrate = (
  options: MovableOptions,
  migrateOptions: DatabaseSchema.MigrateOptions = {}
): Effect.Effect<ReadonlyArray<string>, DatabaseRefused> =>
  Effect.flatMap(LivePlace.find(options), (url) =>
    DatabaseSchema.migrateWith(
      { ...options, url },
      { begin: Citus.beginMigration, check: unlessAt("live"), end: Citus.endMigration },
      migrateOptions
    )
  )

/** Reads which migrations the schema at its current location has run. */
export const status = (options: MovableOptions): Effect.Effect<DatabaseSchema.SchemaStatus, DatabaseRefused> =>
  Effect.flatMap(LivePlace.find(options), (url) => DatabaseSchema.status({ ...options, url }))

/** Migrates the schema to which a move copies a cell. Does not distribute it, because the cell has not arrived yet. */
export const migrateTarget = (options: DatabaseOptions): Effect.Effect<ReadonlyArray<string>, DatabaseRefused> =>
  DatabaseSchema.migrateWith(options, {
    begin: Citus.beginMigration,
    check: unlessAt("arriving"),
    end: () => Effect.void
  })

/** Creates a check that fails if a move has put the schema into a different state. */
const unlessAt = (expected: "live" | "arriving"): DatabaseSchema.Steps["check"] =>
  Effect.fnUntraced(function* (run) {
    const { state } = yield* Place.read(run)
    if (!["empty", "settled", expected].includes(state)) return yield* DatabaseSchema.moving
  })
