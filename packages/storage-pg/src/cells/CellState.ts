import { Cell, type Change, Storage } from "@quotewire/core"
import { Effect, Exit, Option, Scope } from "effect"

type Port = Storage.Storage["Service"]

/** A cell of the settings: its name, and how to open its storage, which closes with the scope. */
export interface CellSource<E> {
  readonly name: string
  readonly open: Effect.Effect<Port, E, Scope.Scope>
}

/** A cell of a running program: its storage, its health, and what is known about its due work. */
export interface CellState {
  readonly name: string
  /** Null until its storage could be opened. */
  storage: Port | null
  /** Whether a call failed as unavailable. Until the cell is ready again, it gets no new workspaces and no claims. */
  isUnavailable: boolean
  /** Whether its health check fails, too. Then all its calls fail at once. */
  isUnresponsive: boolean
  /** The next pause if it is ready but refuses a call. It doubles each time, until a change is stored again. */
  retry_pause_ms: number
  /** Whether it may have more work than its last claim said. */
  isHinted: boolean
  /** How many claims are running. */
  running_claims: number
  /** The `now` of the last claim. */
  claimed_at: number
  /** When its next job is due, by its last claim; null if none waits. */
  next_due_at: number | null
  /** How long after a claim it is polled without a hint. It grows while the cell is idle. */
  poll_ms: number
}

/** The first pause of a cell that is ready but refuses a call. */
export const first_retry_pause_ms = 1_000
/** Hints can be lost, so a cell is polled after this time, and less often while it stays idle. */
export const first_poll_ms = 5_000

/** The state of a cell before it was opened. */
export const initial = (name: string): CellState => ({
  name,
  storage: null,
  isUnavailable: false,
  isUnresponsive: false,
  retry_pause_ms: first_retry_pause_ms,
  isHinted: true,
  running_claims: 0,
  claimed_at: 0,
  next_due_at: null,
  poll_ms: first_poll_ms
})

/** A cell, or storage that is needed to find one, cannot be reached for now. */
export const unavailable = new Storage.StorageUnavailable({ retry_after_seconds: 2 })

/** The settings name the wrong storage for a cell. The message is one sentence for an operator. */
export class WrongCell extends Error {
  readonly _tag = "WrongCell"
}

/** The name of the cell that a storage is marked as; null if it has no mark. */
export const markOf = (storage: Port): Effect.Effect<string | null, Storage.StorageUnavailable> =>
  Effect.map(
    storage.get({ workspace_id: Cell.cellsWorkspace, kind: Cell.markKind.name, id: Cell.mark_id }),
    Option.match({ onNone: () => null, onSome: (record) => Cell.markKind.value(record).name })
  )

/** Opens a cell in the current scope, and checks that its mark is the expected one. A failure leaves nothing open. */
export const openChecked = <E>(
  { name, open }: CellSource<E>,
  isExpected: (mark: string | null) => boolean
): Effect.Effect<Port, E | WrongCell | Storage.StorageUnavailable, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Scope.fork(yield* Effect.scope)
    const opening = Effect.gen(function* () {
      const storage = yield* open
      const mark = yield* markOf(storage)
      if (isExpected(mark)) return storage
      return yield* Effect.fail(
        new WrongCell(
          mark === null
            ? `The database of the cell ${name} is not a cell yet: run quotewire cells add ${name}.`
            : `The database that the settings give for the cell ${name} is that of the cell ${mark}.`
        )
      )
    })
    return yield* opening.pipe(
      Scope.provide(scope),
      Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
    )
  })

/** Notes a hint that a cell may have more work. */
export const noteHint = (cell: CellState, { about }: Change.Hint): void => {
  if (about !== "record") cell.isHinted = true
}
