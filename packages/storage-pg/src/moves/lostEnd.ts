import { Effect } from "effect"
import type { DatabaseRefused } from "../connection/DatabaseRefused.ts"
import { inRealTime } from "../connection/inRealTime.ts"
import type { DatabaseOptions } from "../connection/Pools.ts"
import { using } from "../connection/Session.ts"
import * as Place from "../places/Place.ts"
import { connect, type Move } from "./Move.ts"
import { type End, refused } from "./MoveRefused.ts"
import type { Outcome } from "./moveCell.ts"
import * as Source from "./Source.ts"
import * as Target from "./Target.ts"

/*
 * Ends a move whose old or new server is permanently lost.
 */

const stillAnswers = (end: End) =>
  refused(`The ${end} server responds, so it is not lost: run the command again without --lost.`)

/** Fails if the database at this end responds. */
const expectLost = (end: End, options: DatabaseOptions): Effect.Effect<void, DatabaseRefused> =>
  using(options, Place.read).pipe(
    Effect.andThen(Effect.fail(stillAnswers(end))),
    Effect.catchIf(
      ({ reason }) => reason === "unreachable" || reason === "database",
      () => Effect.void
    )
  )

const notCopied = refused(
  "The new database does not have all of the cell's tables yet: restore the old database from a backup, and run the command with --undo."
)

/** Makes the cell continue in its new database, with the data that has arrived there. */
const continueAtNew = Effect.fnUntraced(function* ({
  from,
  onProgress,
  to
}: Move): Effect.fn.Return<Outcome, DatabaseRefused, never> {
  yield* expectLost("old", from)
  return yield* Effect.scoped(
    Effect.gen(function* () {
      const target = yield* connect("new", to)
      const place = yield* target.step(({ run }) => Place.read(run))
      if (place.state !== "arriving" || place.move_id === null) return "nothing"
      const { move_id } = place
      const copied = yield* target.step((session) => Target.copied(session, move_id))
      if (copied === null || copied.tables === 0 || copied.tables_left > 0) return yield* notCopied
      yield* target.step((session) => Target.unsubscribeFromLost(session, move_id))
      yield* onProgress({ step: "unsubscribed" })
      yield* target.step(Target.analyze)
      yield* target.step((session) => Target.settle(session, move_id))
      yield* onProgress({ step: "settled" })
      return "kept_at_new"
    })
  )
})

const cleared = refused(
  "The old database no longer has the cell's tables: restore the new database from a backup, at the address in moves_to."
)

const undecided = refused("The cell is still in its old database: run the command with --undo.")

/** Returns the cell to its old database, in the state that it had at the cutover. */
const returnToOld = Effect.fnUntraced(function* ({
  from,
  onProgress,
  to
}: Move): Effect.fn.Return<Outcome, DatabaseRefused, never> {
  yield* expectLost("new", to)
  return yield* Effect.scoped(
    Effect.gen(function* () {
      const source = yield* connect("old", from)
      const place = yield* source.step(({ run }) => Place.read(run))
      if (place.state === "leaving" || place.state === "held") return yield* undecided
      if (place.state !== "left") return "nothing"
      const { move_id } = place
      if (move_id === null) return yield* cleared
      yield* source.step((session) => Source.takeBack(session, source.schema))
      yield* source.step((session) => Source.unpublish(session, move_id))
      yield* source.step((session) => Source.stay(session, move_id))
      yield* onProgress({ step: "unreachable" })
      return "kept_at_old"
    })
  )
})

/** Ends a move if one end is lost. Fails if the database at that end still responds. */
export const endWithout = (lostEnd: End, move: Move): Effect.Effect<Outcome, DatabaseRefused> =>
  inRealTime(lostEnd === "old" ? continueAtNew(move) : returnToOld(move))
