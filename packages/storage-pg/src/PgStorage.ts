import { Storage } from "@quotewire/core"
import { Clock, Context, Effect, Layer, type Scope } from "effect"
import { DatabaseRefused } from "./connection/DatabaseRefused.ts"
import * as DatabaseClock from "./database/DatabaseClock.ts"
import { lostAtStart, markOf, type OpenedStorage, type Options, open } from "./opening/open.ts"

export { DatabaseRefused, type RefusalReason } from "./connection/DatabaseRefused.ts"
export { migrate } from "./migrations/PlainSchema.ts"
export { type MigrateOptions, type SchemaStatus, status } from "./migrations/Schema.ts"
export type { Options } from "./opening/open.ts"

/**
 * A storage backend in a PostgreSQL database. Run `migrate` first.
 *
 * The layer fails with `DatabaseRefused` if the database cannot be used. If the database becomes unavailable later,
 * calls fail with `StorageUnavailable` within a time limit.
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
 * Like `layer`, and also provides the database's clock instead of the host's clock.
 *
 * With this layer, all hosts of a database share one clock, so a wrong host clock cannot end a lease early or delay a
 * job.
 */
export const layerWithClock = (options: Options): Layer.Layer<Storage.Storage, DatabaseRefused> =>
  Layer.effectContext(
    opened(options, ({ storage, database }) =>
      Effect.map(DatabaseClock.make(database), (clock) =>
        Context.make(Storage.Storage, storage).pipe(Context.add(Clock.Clock, clock))
      )
    )
  )

/** Opens and uses a database that is not a cell. */
const opened = <A>(
  options: Options,
  run: (opened: OpenedStorage) => Effect.Effect<A, Storage.StorageUnavailable, Scope.Scope>
): Effect.Effect<A, DatabaseRefused, Scope.Scope> =>
  Effect.gen(function* () {
    const database = yield* open(options)
    const cell = yield* markOf(database.storage)
    if (cell !== null) return yield* isCell(cell.name)
    return yield* run(database)
  }).pipe(Effect.catchTag("StorageUnavailable", () => Effect.fail(lostAtStart)))

const isCell = (name: string) =>
  new DatabaseRefused({
    reason: "cell",
    message: `This database is the cell ${name} of a service with several cells: pass the list of all cells (--cells or QUOTEWIRE_CELLS, or PgCells).`
  })
