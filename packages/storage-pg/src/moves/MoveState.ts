import { Effect, Schema } from "effect"
import { type DatabaseRefused, refusalOf } from "../connection/DatabaseRefused.ts"
import { inRealTime } from "../connection/inRealTime.ts"
import type { DatabaseOptions } from "../connection/Pools.ts"
import * as Session from "../connection/Session.ts"
import * as Place from "../places/Place.ts"
import { rowsReader } from "../rows/Columns.ts"
import { query } from "../sql/files.ts"
import { isRunning } from "./lock.ts"
import { literal, nameOf, namePrefix } from "./Replication.ts"

/** A replication slot of a move. Until it is dropped, its server retains the WAL that the slot has not sent. */
export interface MoveSlot {
  readonly name: string
  /** How many bytes of WAL the slot retains. */
  readonly kept_bytes: number
}

/** The state of a cell's move, as seen in the old database. */
export interface MoveState {
  /** `moving` until the cutover is decided, then `finishing`; null if there is no move. */
  readonly phase: "moving" | "finishing" | null
  /** Whether a command is working on the move. If not, the move is stopped. */
  readonly is_running: boolean
  /** The move's slot, if it has one. */
  readonly slot: MoveSlot | null
  /**
   * Inactive slots of other moves: stopped moves of other cells in the same database, or slots that were left behind.
   */
  readonly other_slots: ReadonlyArray<MoveSlot>
}

const readSlots = rowsReader(Schema.Struct({ name: Schema.String, is_active: Schema.Boolean, kept_bytes: Schema.Int }))
const leftBehind = query("moves/left_behind", { prefix: literal(namePrefix) })

const phaseOf = (place: Place.Place): MoveState["phase"] => {
  if (place.state === "leaving" || place.state === "held") return "moving"
  return place.state === "left" && place.move_id !== null ? "finishing" : null
}

/** Reads the state of a move from the cell's old database. */
export const read = (options: DatabaseOptions): Effect.Effect<MoveState, DatabaseRefused> =>
  Effect.gen(function* () {
    const session = yield* Session.open(options)
    const place = yield* Place.read(session.run)
    const slots = readSlots((yield* session.run(leftBehind)).rows)
    const slotName = "move_id" in place && place.move_id !== null ? nameOf(place.move_id) : null
    const state: MoveState = {
      phase: phaseOf(place),
      is_running: yield* isRunning(session, options.schema),
      slot: slots.find(({ name }) => name === slotName) ?? null,
      other_slots: slots.filter(({ is_active, name }) => !is_active && name !== slotName)
    }
    return state
  }).pipe(
    Effect.scoped,
    Effect.catchTag("SqlError", (error) => Effect.fail(refusalOf(options, error))),
    inRealTime
  )
