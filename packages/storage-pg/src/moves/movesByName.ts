import { Effect } from "effect"
import { DatabaseRefused } from "../connection/DatabaseRefused.ts"
import type { MovableOptions } from "./LivePlace.ts"
import type { Move } from "./Move.ts"
import * as moves from "./moveCell.ts"
import type { Progress } from "./Progress.ts"

/** The cells of the settings, by their names. */
type Cells = ReadonlyArray<MovableOptions & { readonly name: string }>

const refused = (message: string) => new DatabaseRefused({ reason: "cell", message })

/** How to move a cell. */
export interface MoveOptions {
  /** Called after each step. */
  readonly onProgress?: (progress: Progress) => Effect.Effect<void>
}

const moveOf = (
  cells: Cells,
  name: string,
  { onProgress = () => Effect.void }: MoveOptions
): Effect.Effect<Move, DatabaseRefused> => {
  const cell = cells.find((cell) => cell.name === name)
  if (cell === undefined) return Effect.fail(refused(`The settings have no cell ${name}.`))
  const { moves_to, ...from } = cell
  if (moves_to === undefined)
    return Effect.fail(refused(`The settings do not say where the cell ${name} moves to: moves_to.`))
  return Effect.succeed({ from, to: { ...from, url: moves_to }, onProgress })
}

/** Why a cell cannot be moved to its `moves_to`: a sentence for each reason; none if it can. Only reads. */
export const checkMove = (cells: Cells, name: string): Effect.Effect<ReadonlyArray<string>, DatabaseRefused> =>
  Effect.flatMap(moveOf(cells, name, {}), moves.check)

/**
 * Moves a cell from its `url` to its `moves_to` while hosts use it, and resumes a move that was stopped. Hosts that were started
 * with both addresses fail over by themselves; their calls wait for less than a second.
 */
export const move = (
  cells: Cells,
  name: string,
  options: MoveOptions = {}
): Effect.Effect<moves.Outcome, DatabaseRefused> => Effect.flatMap(moveOf(cells, name, options), moves.moveCell)

/** Undoes a move that was stopped before its cutover, and removes everything that it has made. */
export const undoMove = (
  cells: Cells,
  name: string,
  options: MoveOptions = {}
): Effect.Effect<moves.Outcome, DatabaseRefused> => Effect.flatMap(moveOf(cells, name, options), moves.undoMove)
