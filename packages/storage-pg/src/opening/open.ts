import { Cell, type Storage } from "@quotewire/core"
import { Effect, Option, type Scope } from "effect"
import { DatabaseRefused, refusalOf } from "../connection/DatabaseRefused.ts"
import { inRealTime } from "../connection/inRealTime.ts"
import type { DatabaseOptions } from "../connection/Pools.ts"
import * as Database from "../database/Database.ts"
import * as Listener from "../hints/Listener.ts"
import * as PlainSchema from "../migrations/PlainSchema.ts"
import { storageOn } from "./storageOn.ts"

/** Options of a storage backend on PostgreSQL. */
export interface Options extends DatabaseOptions {
  /**
   * How many statements may write changes concurrently; 2 by default, but 1 for a cell that shares its server with
   * another cell. The changes of one workspace are always written in order.
   */
  readonly writers?: number
}

/** An open database and the storage that uses it. */
export interface OpenedStorage {
  readonly storage: Storage.Storage["Service"]
  readonly database: Database.PlacedDatabase
}

const make = Effect.fnUntraced(function* (options: Options, site: Database.Site, shared: Listener.Listen | null) {
  const database = yield* Database.make(options, site)
  const listen = shared ?? (yield* Listener.make)
  const storage = yield* storageOn(database, { listen, writers: options.writers ?? 2 })
  return { storage, database }
})

/** Opens a database that does not move, until the scope closes. Turns any failure into one sentence. */
export const open = (options: Options): Effect.Effect<OpenedStorage, DatabaseRefused, Scope.Scope> =>
  openAt(options, { find: PlainSchema.find(options), engineOf: PlainSchema.engineOf, can_move: false })

/** Like `open`, but the database can move, and its listening connection can be shared with other schemas. */
export const openAt = (
  options: Options,
  site: Database.Site,
  shared: Listener.Listen | null = null
): Effect.Effect<OpenedStorage, DatabaseRefused, Scope.Scope> =>
  inRealTime(make(options, site, shared)).pipe(
    Effect.catchTags({
      SqlError: (error) => Effect.fail(refusalOf(options, error)),
      StorageUnavailable: () => Effect.fail(lostAtStart)
    })
  )

/** The error if the database was lost while a storage backend was being opened on it. */
export const lostAtStart = new DatabaseRefused({
  reason: "unreachable",
  message: "Lost the connection to PostgreSQL during startup."
})

/** The cell that a storage backend is marked as; null if it has no mark. */
export const markOf = (
  storage: Storage.Storage["Service"]
): Effect.Effect<Cell.Mark | null, Storage.StorageUnavailable> =>
  Effect.map(
    storage.get({ workspace_id: Cell.cellsWorkspace, kind: Cell.markKind.name, id: Cell.markId }),
    Option.match({ onNone: () => null, onSome: (record) => Cell.markKind.value(record) })
  )
