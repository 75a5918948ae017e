import { Effect } from "effect"
import * as Citus from "../citus/Citus.ts"
import { DatabaseRefused } from "../connection/DatabaseRefused.ts"
import { using } from "../connection/Session.ts"
import { default_schema } from "../connection/schemaName.ts"
import type { MovableOptions } from "../places/LivePlace.ts"
import type { Move } from "./Move.ts"
import * as MoveRefused from "./MoveRefused.ts"
import * as moves from "./moveCell.ts"
import type { Progress } from "./Progress.ts"

/** The cells of the settings, by their names. */
type Cells = ReadonlyArray<NamedCell>
type NamedCell = MovableOptions & { readonly name: string }

const refused = (message: string) => new DatabaseRefused({ reason: "cell", message })

/** How to move a cell. */
export interface MoveOptions {
  /** Called after each step. */
  readonly onProgress?: (progress: Progress) => Effect.Effect<void>
}

const cellOf = (cells: Cells, name: string): Effect.Effect<NamedCell, DatabaseRefused> => {
  const cell = cells.find((cell) => cell.name === name)
  return cell === undefined ? Effect.fail(refused(`The settings have no cell ${name}.`)) : Effect.succeed(cell)
}

const moveOf = (
  { moves_to, ...from }: NamedCell,
  { onProgress = () => Effect.void }: MoveOptions = {}
): Effect.Effect<Move, DatabaseRefused> =>
  moves_to === undefined
    ? Effect.fail(refused(`The settings do not say where the cell ${from.name} moves to: moves_to.`))
    : Effect.succeed({ from, to: { ...from, url: moves_to }, onProgress })

/** What to do instead where Citus keeps the cell; null where it does not. */
const citusMove = (cell: NamedCell): Effect.Effect<string | null, DatabaseRefused> =>
  Effect.map(using(cell, Citus.engineOf), (engine) =>
    engine === "citus"
      ? `Citus keeps this cell, and moves it itself: run select citus_schema_move('${cell.schema ?? default_schema}', 'host', port) on the coordinator, with the server to move it to.`
      : null
  )

/** Why a cell cannot be moved to its `moves_to`: a sentence for each reason; none if it can. Only reads. */
export const checkMove = (cells: Cells, name: string): Effect.Effect<ReadonlyArray<string>, DatabaseRefused> =>
  Effect.gen(function* () {
    const cell = yield* cellOf(cells, name)
    const instead = yield* citusMove(cell)
    return instead === null ? yield* moves.check(yield* moveOf(cell)) : [instead]
  })

/**
 * Moves a cell from its `url` to its `moves_to` while hosts use it, and resumes a move that was stopped. Hosts that were started
 * with both addresses fail over by themselves; their calls wait for less than a second. A cell that
 * Citus keeps is refused, with the call that moves it.
 */
export const move = (
  cells: Cells,
  name: string,
  options: MoveOptions = {}
): Effect.Effect<moves.Outcome, DatabaseRefused> =>
  Effect.gen(function* () {
    const cell = yield* cellOf(cells, name)
    const instead = yield* citusMove(cell)
    if (instead !== null) return yield* MoveRefused.refused(instead)
    return yield* moves.moveCell(yield* moveOf(cell, options))
  })

/** Undoes a move that was stopped before its cutover, and removes everything that it has made. */
export const undoMove = (
  cells: Cells,
  name: string,
  options: MoveOptions = {}
): Effect.Effect<moves.Outcome, DatabaseRefused> =>
  cellOf(cells, name).pipe(
    Effect.flatMap((cell) => moveOf(cell, options)),
    Effect.flatMap(moves.undoMove)
  )
