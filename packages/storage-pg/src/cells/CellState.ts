import { type Change, Storage } from "@quotewire/core"
import { Effect, Exit, Scope } from "effect"
import { markOf } from "../opening/open.ts"
import { refusalOf } from "./CellMap.ts"

type Port = Storage.Storage["Service"]

/** A cell in the settings: its name, and how to open its storage. The storage closes with the scope. */
export interface CellSource<E> {
  readonly name: string
  readonly open: Effect.Effect<Port, E, Scope.Scope>
}

/** An open cell: its name and its storage. */
export interface NamedStorage {
  readonly name: string
  readonly storage: Port
}

/** A cell in a running program: its storage, its health, and what is known about its due jobs. */
export interface CellState {
  readonly name: string
  /** The cell's storage; null until it is open. */
  storage: Port | null
  /**
   * Whether a call failed because the storage was unavailable. If so, the cell gets no new workspaces and no claims
   * until its storage is ready again.
   */
  isUnavailable: boolean
  /** Whether the cell's health check fails too. If so, all its calls fail immediately. */
  isUnresponsive: boolean
  /**
   * How long to pause before the next retry if the cell is ready but refuses a call, in milliseconds. It doubles each
   * time until a change is stored again.
   */
  retry_pause_ms: number
  /** Whether the cell may have more jobs than its last claim reported. */
  isHinted: boolean
  /** How many claims are running. */
  running_claims: number
  /** The `now` of the cell's last claim. */
  claimed_at: number
  /** When the cell's next job is due, according to its last claim; null if no job is waiting. */
  next_due_at: number | null
}

/** How long to pause before the first retry of a cell that is ready but refuses a call, in milliseconds. */
export const firstRetryPauseMs = 1_000

/** The state of a cell that has not been opened yet. */
export const initial = (name: string): CellState => ({
  name,
  storage: null,
  isUnavailable: false,
  isUnresponsive: false,
  retry_pause_ms: firstRetryPauseMs,
  isHinted: true,
  running_claims: 0,
  claimed_at: 0,
  next_due_at: null
})

/** The error if a cell, or the storage needed to find the cell, is unavailable. */
export const unavailable = new Storage.StorageUnavailable({ retry_after_seconds: 2 })

/** The settings name the wrong storage for a cell. The message is one sentence for an operator. */
export class WrongCell extends Error {
  readonly _tag = "WrongCell"
}

/**
 * Opens a cell in the current scope. Checks that it is the named cell and belongs to the same map as `firstCell`; for
 * the first cell itself, `firstCell` is null. A failure leaves nothing open.
 */
export const openChecked = <E>(
  { name, open }: CellSource<E>,
  firstCell: NamedStorage | null
): Effect.Effect<Port, E | WrongCell | Storage.StorageUnavailable, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Scope.fork(yield* Effect.scope)
    const opening = Effect.gen(function* () {
      const storage = yield* open
      const records = yield* namedBy({ name, storage })
      const refusal =
        firstCell !== null && records.found.mark === null
          ? `The database of the cell ${name} is not a cell yet: run quotewire cells add ${name}.`
          : refusalOf(records, firstCell === null ? records : yield* namedBy(firstCell))
      if (refusal === null) return storage
      return yield* Effect.fail(new WrongCell(refusal))
    })
    return yield* opening.pipe(
      Scope.provide(scope),
      Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
    )
  })

/** Reads what an open cell's database records about the cell. */
const namedBy = ({ name, storage }: NamedStorage) =>
  Effect.map(markOf(storage), (mark) => ({ name, found: { mark, listed: [] } }))

/** Records a hint that a cell may have more work. */
export const noteHint = (cell: CellState, { about }: Change.Hint): void => {
  if (about !== "record") cell.isHinted = true
}
