import { Effect, type Redacted, type Scope } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { cellRefused, type DatabaseRefused, refusalOf } from "../connection/DatabaseRefused.ts"
import { inRealTime } from "../connection/inRealTime.ts"
import type { DatabaseOptions } from "../connection/Pools.ts"
import * as Session from "../connection/Session.ts"
import * as Place from "./Place.ts"

/** How to connect to a schema that can move to another database. */
export interface MovableOptions extends Omit<DatabaseOptions, "pooler_url"> {
  /** The URL of the other database. A move copies the schema to it, under the same name. */
  readonly moves_to?: Redacted.Redacted<string>
}

/** How often a held location is checked, in milliseconds. */
const pollMs = 15

const refusals = {
  held: cellRefused(
    "This cell is being moved, and was paused for too long: run quotewire cells move again to resume the move."
  ),
  left: cellRefused(
    "This cell was moved to another database: in the cell's settings, set moves_to or url to that database."
  ),
  arriving: cellRefused("This database is the target of an unfinished move: the cell cannot be opened here yet.")
}

interface Reader {
  readonly options: DatabaseOptions
  /** Reads the state of the location. Fails with a description if the location does not respond. */
  readonly read: Effect.Effect<Place.Place, DatabaseRefused>
  readonly releaseOverdue: Effect.Effect<unknown, SqlError>
  /** Records in the new database that a move was decided. */
  readonly settle: (move_id: string) => Effect.Effect<unknown, SqlError>
}

const readerOf = (options: DatabaseOptions): Effect.Effect<Reader, never, Scope.Scope> =>
  Effect.map(Effect.exit(Session.open(options)), (opened): Reader => {
    return {
      options,
      // The read is retried, because it may not find the `place` table while a hold renames the schema.
      read: Effect.flatMap(opened, ({ run }) => Effect.retry(Place.read(run), { times: 3 })).pipe(
        Effect.catchTag("SqlError", (error) => Effect.fail(refusalOf(options, error)))
      ),
      releaseOverdue: Effect.flatMap(opened, ({ run }) => run(Place.releaseStatement(options.schema, "overdue"))).pipe(
        Effect.catchTag("DatabaseRefused", () => Effect.void)
      ),
      settle: (moveId) =>
        Effect.flatMap(opened, ({ run }) => run(Place.settleStatement, [moveId])).pipe(
          Effect.catchTag("DatabaseRefused", () => Effect.void)
        )
    }
  })

const unknown: Place.Place = { state: "unknown" }

/** Reads the state of a location; `unknown` if the location does not respond. */
const placeOf = (reader: Reader) => Effect.orElseSucceed(reader.read, () => unknown)

/** Ends an overdue hold. The command that began it has died. */
const releaseOverdue = (reader: Reader, place: Place.Place) =>
  place.state === "held" && place.is_overdue ? Effect.ignore(reader.releaseOverdue) : Effect.void

/** Records a decided move in its new database, so that the cell can be opened there even if the old server is lost. */
const recordDecided = (reader: Reader, place: Place.Place) =>
  place.state === "arriving" && place.move_id !== null ? Effect.ignore(reader.settle(place.move_id)) : Effect.void

const findIn = Effect.fnUntraced(function* ({ moves_to, ...connectionOptions }: MovableOptions) {
  const first = yield* readerOf(connectionOptions)
  const second = moves_to === undefined ? null : yield* readerOf({ ...connectionOptions, url: moves_to })
  const turns = ((connectionOptions.call_seconds ?? 10) * 1_000) / pollMs
  for (let turn = 0; turn < turns; turn++) {
    const place = yield* placeOf(first)
    const secondPlace = second && (yield* placeOf(second))
    const location = Place.whereabouts(place, secondPlace)
    if (location === "first") {
      yield* recordDecided(first, place)
      return connectionOptions.url
    }
    if (location === "second" && moves_to !== undefined && second !== null && secondPlace !== null) {
      yield* recordDecided(second, secondPlace)
      return moves_to
    }
    if (location === "left" || location === "arriving") return yield* refusals[location]
    if (location === "unknown") {
      // If the location still does not respond, this fails with the reason.
      yield* first.read
      if (second !== null) yield* second.read
    }
    yield* releaseOverdue(first, place)
    if (second !== null && secondPlace !== null) yield* releaseOverdue(second, secondPlace)
    yield* Effect.sleep(pollMs)
  }
  return yield* refusals.held
})

/** Finds the URL of a cell's current location. If a move holds the cell, waits as long as a call may take. */
export const find = (options: MovableOptions): Effect.Effect<Redacted.Redacted<string>, DatabaseRefused> =>
  inRealTime(Effect.scoped(findIn(options)))
