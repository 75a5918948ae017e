import { type Change, Hints, kinds, Storage } from "@quotewire/core"
import { Clock, Context, Effect, Layer, Schema, type Scope } from "effect"
import * as Announcer from "./Announcer.ts"
import * as Claimer from "./Claimer.ts"
import { int4s, int8Of, int8s, texts } from "./columns.ts"
import * as Database from "./Database.ts"
import * as DatabaseClock from "./DatabaseClock.ts"
import { DatabaseRefused, refusalOf } from "./DatabaseRefused.ts"
import { erase } from "./Eraser.ts"
import { inRealTime } from "./inRealTime.ts"
import { listen } from "./Listener.ts"
import * as Reader from "./Reader.ts"
import * as DatabaseSchema from "./Schema.ts"
import * as tallies from "./tallies.ts"
import * as Writer from "./Writer.ts"

export { DatabaseRefused, type RefusalReason } from "./DatabaseRefused.ts"
export { migrate, type SchemaStatus, status } from "./Schema.ts"

/** Where the database is, and how much of it a process may take. */
export interface Options extends Database.DatabaseOptions {
  /** How many statements write changes at once; changes of a workspace always go through the same one; 2. */
  readonly writers?: number
}

const release = "select quotewire.release_1($1, $2, $3)"

const nameHost = "select gen_random_uuid()::text as name"
const HostRow = Schema.Struct({ name: Schema.String })
const decodeHost = Schema.decodeUnknownSync(Schema.NonEmptyArray(HostRow))

type Port = Storage.Storage["Service"]

/** An open database, and the storage on it. */
interface Made {
  readonly storage: Port
  readonly database: Database.Database
}

/** Counts, and forgets counts that are over, every now and then. */
const makeTally = (database: Database.Database): Port["tally"] => {
  let swept_at = Number.NEGATIVE_INFINITY
  return Effect.fnUntraced(function* (now, given) {
    if (given.length === 0) return []
    if (now - swept_at >= tallies.sweep_every_ms) {
      swept_at = now
      yield* Effect.ignore(database.write(tallies.sweepStatement, [int8Of(now)]))
    }
    return tallies.read(yield* database.write(tallies.statement, tallies.parameters(now, given)))
  })
}

const makeRelease =
  (database: Database.Database): Port["release"] =>
  (leases) =>
    leases.length === 0
      ? Effect.void
      : Effect.asVoid(
          database.write(release, [
            texts(leases.map(({ workspace_id }) => workspace_id)),
            int8s(leases.map(({ number }) => number)),
            int4s(leases.map(({ lease }) => lease))
          ])
        )

const make = Effect.fnUntraced(function* (options: Options) {
  const refusal = DatabaseSchema.obstacle(yield* DatabaseSchema.status(options))
  if (refusal !== null) return yield* refusal

  const database = yield* Database.make(options)
  const write = yield* Writer.make(database, options.writers ?? 2)
  const [{ name }] = decodeHost(yield* database.read(nameHost, []))
  const announce = yield* Announcer.make(name, database)
  const hints = new Hints.Hints()
  yield* listen(name, Database.connectionOf(options), hints.tell)
  const tell = (told: ReadonlyArray<Change.Hint>): Effect.Effect<void> => {
    announce(told)
    return hints.tell(told)
  }

  const storage = Storage.Storage.of({
    ...(yield* Reader.make(database)),
    commit: (change) =>
      Effect.andThen(
        write(change),
        Effect.suspend(() => tell(Hints.hintsOf(change, kinds)))
      ),
    claim: yield* Claimer.make(database),
    release: makeRelease(database),
    erase: (erasure) => {
      const { what, workspace_id } = erasure
      const told = Effect.suspend(() => tell(what === "workspace" ? [{ about: what, workspace_id }] : []))
      return Effect.tap(erase(database, erasure), told)
    },
    tally: makeTally(database),
    watch: hints.watch
  })
  return { storage, database }
})

/**
 * Keeps everything in a PostgreSQL database whose schema is up to date (`migrate`).
 *
 * The start fails with `DatabaseRefused` where the database cannot be used. After it, a lost database fails calls with
 * `StorageUnavailable`, within a bound, until it is back.
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
 * The same, with the database's clock in place of the host's own for everything that this layer is provided to.
 *
 * So all hosts of a database go by one clock: no lease ends and no job comes due by the clock of a host that is off.
 */
export const layerWithClock = (options: Options): Layer.Layer<Storage.Storage, DatabaseRefused> =>
  Layer.effectContext(
    opened(options, ({ storage, database }) =>
      Effect.map(DatabaseClock.make(database), (clock) =>
        Context.make(Storage.Storage, storage).pipe(Context.add(Clock.Clock, clock))
      )
    )
  )

/** Opens a database and makes something of it; what fails on the way is told in one sentence. */
const opened = <A>(
  options: Options,
  use: (made: Made) => Effect.Effect<A, Storage.StorageUnavailable, Scope.Scope>
): Effect.Effect<A, DatabaseRefused, Scope.Scope> =>
  Effect.flatMap(inRealTime(make(options)), use).pipe(
    Effect.catchTags({
      SqlError: (error) => Effect.fail(refusalOf(options.url, error)),
      StorageUnavailable: () => Effect.fail(lostAtStart)
    })
  )

const lostAtStart = new DatabaseRefused({
  reason: "unreachable",
  message: "PostgreSQL was lost while this program was starting."
})
