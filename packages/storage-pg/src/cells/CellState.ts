import { Cell, type Change, Storage } from "@quotewire/core"
import { Effect, Exit, Option, Scope } from "effect"

type Port = Storage.Storage["Service"]

/** A cell of the settings: its name, and how to open its storage, which closes with the scope. */
export interface CellSource<E> {
  readonly name: string
  readonly open: Effect.Effect<Port, E, Scope.Scope>
}

/** A cell of a running program, and what is known about its due work. */
export interface CellState {
  readonly name: string
  /** Null until its storage could be opened. */
  storage: Port | null
  /** Whether a call of it failed as unavailable. It gets no new workspaces and is not asked for work until it is ready again. */
  isAway: boolean
  /** Whether it is away and does not say that it is ready. Its calls fail at once. */
  isSilent: boolean
  /** How long it rests the next time that it is ready and refuses all the same. */
  pause_ms: number
  /** Whether it may have more work than its last claim said. */
  isHinted: boolean
  /** How many claims are under way. */
  asking: number
  /** The `now` of the last claim that it was asked for. */
  asked_at: number
  /** When its next job is due, by its last claim; null if none waits. */
  next_due_at: number | null
  /** After how long it is asked for work again without a reason. It grows while there is none. */
  look_again_ms: number
}

/** The first pause of a cell that is ready and refuses all the same. */
export const first_pause_ms = 1_000
/** Hints can be lost, so a cell is asked for work after this time, and then less often while it is idle. */
export const first_look_again_ms = 5_000

/** A cell about which nothing is known yet. */
export const unknown = (name: string): CellState => ({
  name,
  storage: null,
  isAway: false,
  isSilent: false,
  pause_ms: first_pause_ms,
  isHinted: true,
  asking: 0,
  asked_at: 0,
  next_due_at: null,
  look_again_ms: first_look_again_ms
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

/** Opens a cell in the current scope, and makes sure that it is the right one. A failure leaves nothing open. */
export const openRight = <E>(
  { name, open }: CellSource<E>,
  isRight: (mark: string | null) => boolean
): Effect.Effect<Port, E | WrongCell | Storage.StorageUnavailable, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Scope.fork(yield* Effect.scope)
    const opening = Effect.gen(function* () {
      const storage = yield* open
      const mark = yield* markOf(storage)
      if (isRight(mark)) return storage
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

/** Remembers a hint that a cell may have more work. */
export const note = (cell: CellState, { about }: Change.Hint): void => {
  if (about !== "record") cell.isHinted = true
}
