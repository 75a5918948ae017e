import { PgCells } from "@quotewire/storage-pg"
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { CommandFailed, WrongUsage } from "../CommandErrors.ts"
import { cellsOf, name, settings } from "../cells/CellSettings.ts"
import * as MoveText from "../cells/MoveText.ts"

const dry_run = Flag.Boolean("dry-run").pipe(
  Flag.withDefault(false),
  Flag.withDescription("Say whether the cell can be moved, and change nothing")
)

const undo = Flag.Boolean("undo").pipe(
  Flag.withDefault(false),
  Flag.withDescription("Undo a move that was stopped before the cell was at its new place")
)

/** Lines about the progress go to standard error: standard output is for results. */
const onProgress = (progress: PgCells.MoveProgress): Effect.Effect<void> => {
  const line = MoveText.lineOf(progress)
  return line === null ? Effect.void : Console.error(`quotewire: ${line}`)
}

const check = Effect.fnUntraced(function* (cells: PgCells.AllCells, name: string, json: boolean) {
  const obstacles = yield* PgCells.checkMove(cells, name)
  if (json) yield* Console.log(JSON.stringify({ cell: name, can_move: obstacles.length === 0, obstacles }))
  else if (obstacles.length === 0) yield* Console.log("The cell can be moved.")
  else for (const obstacle of obstacles) yield* Console.log(obstacle)
  if (obstacles.length > 0) return yield* new CommandFailed({ message: "The cell cannot be moved yet." })
})

/** `quotewire cells move` moves a cell to another database while hosts use it. */
export const moveCell = Command.make("move", { name, dry_run, undo, ...settings }, (settings) =>
  Effect.gen(function* () {
    const { dry_run, json, name, undo } = settings
    if (dry_run && undo) return yield* new WrongUsage({ message: "Give --dry-run or --undo, and not both." })
    const cells = yield* cellsOf(settings)
    if (dry_run) return yield* check(cells, name, json)
    const outcome = yield* (undo ? PgCells.undoMove : PgCells.move)(cells, name, { onProgress })
    yield* Console.log(json ? JSON.stringify({ cell: name, outcome }) : MoveText.endings[outcome])
  }).pipe(Effect.catchTag("DatabaseRefused", ({ message }) => Effect.fail(new CommandFailed({ message }))))
).pipe(
  Command.withDescription("Move a cell to the database in its moves_to, while hosts use it; resumes a stopped move")
)
