import { Effect, Schema } from "effect"
import type { DatabaseRefused } from "../connection/DatabaseRefused.ts"
import { inRealTime } from "../connection/inRealTime.ts"
import * as DatabaseSchema from "../migrations/Schema.ts"
import * as Place from "../places/Place.ts"
import { migrateTarget } from "../places/PlacedSchema.ts"
import { someRowsReader } from "../rows/Columns.ts"
import { catchUp } from "./copy.ts"
import { tryCutover } from "./cutover.ts"
import { type ConnectedEnd, connect, type Move } from "./Move.ts"
import { refused } from "./MoveRefused.ts"
import { unmet } from "./preconditions.ts"
import * as Source from "./Source.ts"
import * as Target from "./Target.ts"

/**
 * The outcome of a move command. `nothing` means that there was nothing to do. `kept_at_new` and `kept_at_old` mean
 * that the other end is lost.
 */
export type Outcome = "moved" | "undone" | "nothing" | "kept_at_new" | "kept_at_old"

/** The maximum number of times that everything is copied. */
const maxCopies = 5
/** How many times a hold is attempted, and the pause between attempts, in milliseconds. */
const maxHolds = 20
const betweenHoldsMs = 1_000

const readId = someRowsReader(Schema.Struct({ id: Schema.String }))
const newId = "select replace(gen_random_uuid()::text, '-', '') as id"

/** A move with open connections to both ends. */
interface MoveEnds extends Move {
  readonly source: ConnectedEnd
  readonly target: ConnectedEnd
}

const placeOf = ({ step }: ConnectedEnd) => step(({ run }) => Place.read(run))

const notHere = refused("The cell is not at its url: set url to the address of the database that the cell is in.")

/** Lists why a move cannot begin; empty if it can. */
const unmetBy = Effect.fnUntraced(function* ({ from, source, target }: MoveEnds) {
  const { state } = yield* placeOf(source)
  if (state === "left" || state === "arriving") return yield* notHere
  // A stopped move is resumed even if the preconditions are no longer met.
  if (state === "leaving" || state === "held") return []
  const refusal = DatabaseSchema.incompatibility(yield* DatabaseSchema.status(from))
  if (refusal !== null) return yield* refusal
  return unmet({
    old: yield* source.step((session) => Source.facts(session, source.schema)),
    new: yield* target.step(Target.facts)
  })
})

const otherRelease = refused(
  "Another release of this program began the move: continue with that release, or run the command with --undo."
)

/** Begins the move, unless it has already begun. Returns the move's ID and the cell's epoch, which counts its moves. */
const begin = Effect.fnUntraced(function* (ends: MoveEnds, place: Place.Place) {
  if (place.state === "leaving" && place.move_id !== null) {
    // Resuming requires that both locations have this program's schema version.
    if (DatabaseSchema.incompatibility(yield* DatabaseSchema.status(ends.from)) !== null) return yield* otherRelease
    return { move_id: place.move_id, epoch: place.epoch }
  }
  const unmetConditions = yield* unmetBy(ends)
  if (unmetConditions.length > 0) return yield* refused(unmetConditions.join(" "))
  const { source } = ends
  const [{ id }] = readId((yield* source.step(({ run }) => run(newId))).rows)
  const epoch = yield* source.step((session) => Source.leave(session, id))
  if (epoch === null) return yield* notHere
  return { move_id: id, epoch }
})

const slotIsGone = refused(
  "This move's replication slot no longer exists on the old server, so the new database cannot catch up. The old database still has all data: run the command with --undo, and then move the cell again."
)

const copyKeepsFailing = refused(
  "The new server keeps losing its copy, because the server keeps stopping. See the server's log. Then run the command again, or with --undo."
)

/** Subscribes the new database, and waits until it has caught up. Returns false if the copy was lost. */
const copy = Effect.fnUntraced(function* ({ from, onProgress, source, target }: MoveEnds, moveId: string) {
  const isSubscribed = yield* target.step((session) => Target.isSubscribed(session, moveId))
  if (!(yield* source.step((session) => Source.publish(session, moveId, isSubscribed)))) return yield* slotIsGone
  yield* onProgress({ step: "published" })
  yield* target.step((session) => Target.subscribe(session, moveId, from.url))
  const copySlots = yield* target.step((session) => Target.copySlotNames(session, moveId))
  // The name pattern is recorded before the first slot is created, so that undoing the move always finds the slots.
  yield* source.step((session) => Source.noteCopySlots(session, moveId, copySlots))
  yield* target.step((session) => Target.startCopying(session, moveId))
  yield* onProgress({ step: "subscribed" })
  return yield* catchUp(source, target, moveId, onProgress)
})

/** Copies the cell, waits until the copy has caught up with later changes, and cuts over. */
const copyAndCutOver = Effect.fnUntraced(function* (ends: MoveEnds, place: Place.Place) {
  const { onProgress, source, target, to } = ends
  const { epoch, move_id } = yield* begin(ends, place)
  yield* onProgress({ step: "begun" })
  if (!(yield* target.step((session) => Target.arrive(session, move_id, epoch + 1)))) {
    return yield* refused(
      "The new database already has a schema that is not from this move: run the command with --undo."
    )
  }
  yield* onProgress({ step: "arriving" })
  yield* migrateTarget(to)
  for (let copies = 1; !(yield* copy(ends, move_id)); copies++) {
    if (copies === maxCopies) return yield* copyKeepsFailing
    yield* target.step((session) => Target.unsubscribe(session, move_id))
    yield* source.step((session) => Source.unpublish(session, move_id))
    yield* onProgress({ step: "copying_again" })
  }
  yield* target.step(Target.analyze)
  for (let tried = 0; tried < maxHolds; tried++) {
    yield* catchUp(source, target, move_id, onProgress)
    if (yield* tryCutover(source, target, onProgress)) return yield* finish(ends, move_id)
    yield* Effect.sleep(betweenHoldsMs)
  }
  return yield* refused(
    "The cell could not be paused for long enough: another session, such as a backup, locks its tables, or the new server is too slow. Run the command again, or with --undo."
  )
})

/** Cleans up at both ends after the cutover. */
const finish = Effect.fnUntraced(function* ({ onProgress, source, target }: MoveEnds, moveId: string) {
  yield* target.step((session) => Target.settle(session, moveId))
  yield* onProgress({ step: "settled" })
  yield* target.step((session) => Target.unsubscribe(session, moveId))
  yield* onProgress({ step: "unsubscribed" })
  yield* source.step((session) => Source.unpublish(session, moveId))
  yield* source.step((session) => Source.clear(session, source.schema, moveId))
  yield* onProgress({ step: "cleared" })
})

const both = Effect.fnUntraced(function* (move: Move) {
  const source = yield* connect("old", move.from)
  const target = yield* connect("new", move.to)
  const ends: MoveEnds = { ...move, source, target }
  return ends
})

/** Lists why a move cannot begin, one sentence for each reason. Read-only. */
export const check = (move: Move): Effect.Effect<ReadonlyArray<string>, DatabaseRefused> =>
  inRealTime(Effect.scoped(Effect.flatMap(both(move), unmetBy)))

/** Moves a cell, or resumes a stopped move. */
export const moveCell = (move: Move): Effect.Effect<Outcome, DatabaseRefused> =>
  Effect.gen(function* () {
    const ends = yield* both(move)
    const { source } = ends
    let place = yield* placeOf(source)
    if (place.state === "held") {
      yield* source.step((session) => Source.release(session, source.schema))
      place = yield* placeOf(source)
    }
    if (place.state === "left") {
      if (place.move_id === null) return "nothing"
      yield* finish(ends, place.move_id)
    } else yield* copyAndCutOver(ends, place)
    return "moved"
  }).pipe(Effect.scoped, inRealTime)

const decided = refused(
  "The move can no longer be undone, because the cell is in its new database: run the command without --undo to finish it. To move it again, name another database."
)

/** Removes what a move created in the new database, if that database responds. */
const undoAtTarget = Effect.fnUntraced(function* ({ to }: Move, moveId: string) {
  const target = yield* connect("new", to)
  const place = yield* placeOf(target)
  yield* target.step((session) => Target.unsubscribe(session, moveId))
  if (place.state === "arriving" && place.move_id === moveId) yield* target.step(Target.clear)
}, Effect.scoped)

/**
 * Undoes a move before its cutover. If the new database does not respond, an operator must remove what the move created
 * there.
 */
export const undoMove = (move: Move): Effect.Effect<Outcome, DatabaseRefused> =>
  Effect.gen(function* () {
    const source = yield* connect("old", move.from)
    const place = yield* placeOf(source)
    if (place.state === "left") return yield* decided
    if (place.state === "held") yield* source.step((session) => Source.release(session, source.schema))
    if ((place.state !== "held" && place.state !== "leaving") || place.move_id === null) return "nothing"
    const { move_id } = place
    yield* Effect.catchIf(
      undoAtTarget(move, move_id),
      ({ reason }) => reason === "unreachable" || reason === "database",
      () => move.onProgress({ step: "unreachable" })
    )
    yield* source.step((session) => Source.unpublish(session, move_id))
    yield* source.step((session) => Source.stay(session, move_id))
    return "undone"
  }).pipe(Effect.scoped, inRealTime)
