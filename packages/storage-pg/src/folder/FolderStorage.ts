import { Storage } from "@quotewire/core"
import { Clock, Context, Effect, Layer, type Scope } from "effect"
import type { DatabaseRefused } from "../connection/DatabaseRefused.ts"
import type { PlacedDatabase } from "../database/Database.ts"
import * as DatabaseClock from "../database/DatabaseClock.ts"
import { storageOn } from "../opening/storageOn.ts"
import * as FolderDatabase from "./FolderDatabase.ts"
import { folderRefused } from "./FolderRefused.ts"

/** A storage backend in a folder, and the database under it. */
interface OpenedFolder {
  readonly storage: Storage.Storage["Service"]
  readonly database: PlacedDatabase
}

/** Opens the storage in a folder until the scope closes. */
export const open = Effect.fnUntraced(function* (
  folder: string
): Effect.fn.Return<OpenedFolder, DatabaseRefused, Scope.Scope> {
  const database = yield* FolderDatabase.open(folder)
  const storage = yield* Effect.mapError(storageOn(database, { listen: () => Effect.void, writers: 1 }), () =>
    failed(folder)
  )
  return { storage, database }
})

const failed = (folder: string) => folderRefused(`The database in ${folder} failed to start.`)

/** The storage in a folder, with the clock of its database. */
export const layer = (folder: string): Layer.Layer<Storage.Storage, DatabaseRefused> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const { database, storage } = yield* open(folder)
      const clock = yield* Effect.mapError(DatabaseClock.make(database), () => failed(folder))
      return Context.make(Storage.Storage, storage).pipe(Context.add(Clock.Clock, clock))
    })
  )
