import { type Change, Hints, kinds, Storage } from "@quotewire/core"
import { Effect, Schema, type Scope } from "effect"
import * as ChangeWriter from "../changes/ChangeWriter.ts"
import { DatabaseRefused, refusalOf } from "../connection/DatabaseRefused.ts"
import { inRealTime } from "../connection/inRealTime.ts"
import type { DatabaseOptions } from "../connection/Pools.ts"
import { makeTally } from "../counts/tallies.ts"
import * as Database from "../database/Database.ts"
import { erase } from "../erasure/erase.ts"
import * as Announcer from "../hints/Announcer.ts"
import { listen } from "../hints/Listener.ts"
import * as Claimer from "../jobs/Claimer.ts"
import { makeRelease } from "../jobs/release.ts"
import * as LivePlace from "../places/LivePlace.ts"
import * as Reader from "../reads/Reader.ts"
import { someRowsReader } from "../rows/Columns.ts"

/** Options of a storage on PostgreSQL. */
export interface Options extends DatabaseOptions {
  /** How many statements write changes at once; 2 by default. The changes of one workspace are always written in order. */
  readonly writers?: number
}

const nameHost = "select gen_random_uuid()::text as name"
const hostNames = someRowsReader(Schema.Struct({ name: Schema.String }))

/** An open database, and the storage on it. */
export interface Opened {
  readonly storage: Storage.Storage["Service"]
  readonly database: Database.PlacedDatabase
}

/** The same for a database that can move. */
export interface MovableOptions extends Options, LivePlace.MovableOptions {}

const make = Effect.fnUntraced(function* (options: MovableOptions) {
  const database = yield* Database.make(options, yield* LivePlace.find(options))
  const commit = yield* ChangeWriter.make(database, options.writers ?? 2)
  const [{ name }] = hostNames(yield* database.read(nameHost, []))
  const announce = yield* Announcer.make(name, database)
  const hints = new Hints.Hints()
  let has_moved = false
  yield* database.atEachPlace((connection) =>
    Effect.gen(function* () {
      yield* listen(name, connection, database.schema, hints.notify)
      // Hints that were sent during the move were lost.
      if (has_moved) yield* hints.notify([{ about: "everything" }])
      has_moved = true
    })
  )
  const announceAll = (all: ReadonlyArray<Change.Hint>): Effect.Effect<void> => {
    announce(all)
    return hints.notify(all)
  }

  const storage = Storage.Storage.of({
    ...(yield* Reader.make(database)),
    commit: (change) =>
      Effect.andThen(
        commit(change),
        Effect.suspend(() => announceAll(Hints.hintsOf(change, kinds)))
      ),
    claim: yield* Claimer.make(database),
    release: makeRelease(database),
    erase: (erasure) => {
      const { what, workspace_id } = erasure
      const announced = Effect.suspend(() => announceAll(what === "workspace" ? [{ about: what, workspace_id }] : []))
      return Effect.tap(erase(database, erasure), announced)
    },
    addCounts: makeTally(database),
    watch: hints.watch
  })
  return { storage, database }
})

/** Opens a database, until the scope closes. Any failure is described in one sentence. */
export const open = (options: MovableOptions): Effect.Effect<Opened, DatabaseRefused, Scope.Scope> =>
  inRealTime(make(options)).pipe(
    Effect.catchTags({
      SqlError: (error) => Effect.fail(refusalOf(options, error)),
      StorageUnavailable: () => Effect.fail(lostAtStart)
    })
  )

/** The database was lost while a storage on it was opened. */
export const lostAtStart = new DatabaseRefused({
  reason: "unreachable",
  message: "PostgreSQL was lost while this program was starting."
})
