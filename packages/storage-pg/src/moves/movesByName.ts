import { Effect } from "effect"
import * as Citus from "../citus/Citus.ts"
import { defaultSchema } from "../connection/Address.ts"
import { cellRefused, type DatabaseRefused } from "../connection/DatabaseRefused.ts"
import { using } from "../connection/Session.ts"
import type { MovableOptions } from "../places/LivePlace.ts"
import * as lostEnd from "./lostEnd.ts"
import type { Move, Progress } from "./Move.ts"
import * as MoveRefused from "./MoveRefused.ts"
import * as moves from "./moveCell.ts"

/** The cells in the settings, by name. */
type Cells = ReadonlyArray<NamedCell>
type NamedCell = MovableOptions & { readonly name: string }

/** Options of a move. */
export interface MoveOptions {
  /** Called after each step. */
  readonly onProgress?: (progress: Progress) => Effect.Effect<void>
}

const cellOf = (cells: Cells, name: string): Effect.Effect<NamedCell, DatabaseRefused> => {
  const cell = cells.find((candidate) => candidate.name === name)
  return cell === undefined
    ? Effect.fail(cellRefused(`The settings do not list a cell named ${name}.`))
    : Effect.succeed(cell)
}

const moveOf = (
  { moves_to, ...from }: NamedCell,
  { onProgress = () => Effect.void }: MoveOptions = {}
): Effect.Effect<Move, DatabaseRefused> =>
  moves_to === undefined
    ? Effect.fail(cellRefused(`Set moves_to of the cell ${from.name} to the address of its new database.`))
    : Effect.succeed({ from, to: { ...from, url: moves_to }, onProgress })

/** Explains what to do instead if the cell is on Citus; null if the cell is not on Citus. */
const citusMove = (cell: NamedCell): Effect.Effect<string | null, DatabaseRefused> =>
  Effect.map(using(cell, Citus.engineOf), (engine) =>
    engine === "citus"
      ? `Citus manages and moves this cell: run select citus_schema_move('${cell.schema ?? defaultSchema}', 'host', port) on the coordinator, with the new server as the host and port.`
      : null
  )

/** Lists why a cell cannot move to its `moves_to`, one sentence for each reason; empty if it can move. Read-only. */
export const checkMove = (cells: Cells, name: string): Effect.Effect<ReadonlyArray<string>, DatabaseRefused> =>
  Effect.gen(function* () {
    const cell = yield* cellOf(cells, name)
    const instead = yield* citusMove(cell)
    return instead === null ? yield* moves.check(yield* moveOf(cell)) : [instead]
  })

/**
 * Moves a cell from its `url` to its `moves_to` while hosts use it, or resumes a stopped move. Hosts that were started
 * with both addresses fail over automatically; their calls wait less than a second. For a cell on Citus it fails, and
 * the error names the Citus call that moves the cell.
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

/** Undoes a move that stopped before its cutover, and removes everything that it created. */
export const undoMove = (
  cells: Cells,
  name: string,
  options: MoveOptions = {}
): Effect.Effect<moves.Outcome, DatabaseRefused> =>
  cellOf(cells, name).pipe(
    Effect.flatMap((cell) => moveOf(cell, options)),
    Effect.flatMap(moves.undoMove)
  )

/**
 * Ends a move whose old or new server is permanently lost. The cell continues on the other server, with the data there.
 */
export const endMoveWithout = (
  cells: Cells,
  name: string,
  end: MoveRefused.End,
  options: MoveOptions = {}
): Effect.Effect<moves.Outcome, DatabaseRefused> =>
  cellOf(cells, name).pipe(
    Effect.flatMap((cell) => moveOf(cell, options)),
    Effect.flatMap((unfinished) => lostEnd.endWithout(end, unfinished))
  )
