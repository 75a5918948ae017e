import { type Change, Hints, kinds, Storage } from "@quotewire/core"
import { Clock, Context, Effect, Layer, Schema, type Scope } from "effect"
import * as ChangeWriter from "./changes/ChangeWriter.ts"
import * as Database from "./connection/Database.ts"
import * as DatabaseClock from "./connection/DatabaseClock.ts"
import { DatabaseRefused, refusalOf } from "./connection/DatabaseRefused.ts"
import { inRealTime } from "./connection/inRealTime.ts"
import { makeTally } from "./counts/tallies.ts"
import { erase } from "./erasure/erase.ts"
import * as Announcer from "./hints/Announcer.ts"
import { listen } from "./hints/Listener.ts"
import * as Claimer from "./jobs/Claimer.ts"
import { makeRelease } from "./jobs/release.ts"
import * as DatabaseSchema from "./migrations/Schema.ts"
import * as Reader from "./reads/Reader.ts"
import { someRowsReader } from "./rows/Columns.ts"

export { DatabaseRefused, type RefusalReason } from "./connection/DatabaseRefused.ts"
export { migrate, type SchemaStatus, status } from "./migrations/Schema.ts"

/** Options of a storage on PostgreSQL. */
export interface Options extends Database.DatabaseOptions {
  /** How many statements write changes at once; 2 by default. The changes of one workspace are always written in order. */
  readonly writers?: number
}

const nameHost = "select gen_random_uuid()::text as name"
const hostNames = someRowsReader(Schema.Struct({ name: Schema.String }))

/** An open database, and the storage on it. */
interface Opened {
  readonly storage: Storage.Storage["Service"]
  readonly database: Database.Database
}

const make = Effect.fnUntraced(function* (options: Options) {
  const refusal = DatabaseSchema.incompatibility(yield* DatabaseSchema.status(options))
  if (refusal !== null) return yield* refusal

  const database = yield* Database.make(options)
  const commit = yield* ChangeWriter.make(database, options.writers ?? 2)
  const [{ name }] = hostNames(yield* database.read(nameHost, []))
  const announce = yield* Announcer.make(name, database)
  const hints = new Hints.Hints()
  yield* listen(name, Database.connectionOf(options), database.schema, hints.notify)
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

/**
 * A storage in a PostgreSQL database. Run `migrate` first.
 *
 * The layer fails with `DatabaseRefused` if the database cannot be used. If the database is lost later, calls fail with
 * `StorageUnavailable` within a time limit.
 *
 * @example
 * program.pipe(Effect.provide(PgStorage.layer({ url: Redacted.make("postgres://localhost/quotewire") })))
 */
export const layer = (options: Options): Layer.Layer<Storage.Storage, DatabaseRefused> =>
  Layer.effect(
    Storage.Storage,
    opened(options, ({ storage }) => Effect.succeed(storage))
  )

/**
 * Like `layer`, and provides the database's clock instead of the host's.
 *
 * Then all hosts of a database use one clock: no lease ends early, and no job is late, because a host's clock is wrong.
 */
export const layerWithClock = (options: Options): Layer.Layer<Storage.Storage, DatabaseRefused> =>
  Layer.effectContext(
    opened(options, ({ storage, database }) =>
      Effect.map(DatabaseClock.make(database), (clock) =>
        Context.make(Storage.Storage, storage).pipe(Context.add(Clock.Clock, clock))
      )
    )
  )

/** Opens a database and uses it. Any failure is described in one sentence. */
const opened = <A>(
  options: Options,
  use: (opened: Opened) => Effect.Effect<A, Storage.StorageUnavailable, Scope.Scope>
): Effect.Effect<A, DatabaseRefused, Scope.Scope> =>
  Effect.flatMap(inRealTime(make(options)), use).pipe(
    Effect.catchTags({
      SqlError: (error) => Effect.fail(refusalOf(options, error)),
      StorageUnavailable: () => Effect.fail(lostAtStart)
    })
  )

const lostAtStart = new DatabaseRefused({
  reason: "unreachable",
  message: "PostgreSQL was lost while this program was starting."
})
