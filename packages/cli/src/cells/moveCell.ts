import { PgCells } from "@quotewire/storage-pg/cells"
import { Console, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { CommandFailed, WrongUsage } from "../settings/CommandErrors.ts"
import { reportAllErrors } from "../settings/Parameters.ts"
import * as Output from "../terminal/Output.ts"
import { cellsOf, flags, nameArgument } from "./CellSettings.ts"
import * as MoveText from "./MoveText.ts"

const moveFlags = {
  name: nameArgument,
  dry_run: Flag.Boolean("dry-run").pipe(
    Flag.withDefault(false),
    Flag.withDescription("Check whether the cell can be moved, and change nothing")
  ),
  undo: Flag.Boolean("undo").pipe(
    Flag.withDefault(false),
    Flag.withDescription("Undo a stopped move, if the cell has not switched to its new database")
  ),
  lost: Flag.Literals("lost", ["old", "new"]).pipe(
    Flag.optional,
    Flag.withDescription(
      "End a move whose old or new server is permanently lost: the cell continues on the other server"
    )
  ),
  ...flags
}

/** Prints progress to standard error, because standard output is for results. */
const onProgress = (progress: PgCells.MoveProgress): Effect.Effect<void> => {
  const line = MoveText.lineOf(progress)
  return line === null ? Effect.void : Console.error(`quotewire: ${line}`)
}

const check = Effect.fnUntraced(function* (cells: PgCells.AllCells, name: string, json: boolean) {
  const obstacles = yield* PgCells.checkMove(cells, name)
  const can_move = obstacles.length === 0
  yield* Output.result({ json }, { cell: name, can_move, obstacles }, can_move ? ["The cell can be moved."] : obstacles)
  if (obstacles.length > 0) return yield* new CommandFailed({ message: "The cell cannot be moved yet." })
})

/** `quotewire cells move` moves a cell to a different database while hosts use it. */
export const moveCell = Command.make("move", reportAllErrors(moveFlags), (settings) =>
  Effect.gen(function* () {
    const { dry_run, json, lost, name, undo } = settings
    if ([dry_run, undo, Option.isSome(lost)].filter(Boolean).length > 1) {
      return yield* new WrongUsage({ message: "Use only one of --dry-run, --undo and --lost." })
    }
    const cells = yield* cellsOf(settings)
    if (dry_run) return yield* check(cells, name, json)
    const outcome = Option.isSome(lost)
      ? yield* PgCells.endMoveWithout(cells, name, lost.value, { onProgress })
      : yield* (undo ? PgCells.undoMove : PgCells.move)(cells, name, { onProgress })
    yield* Output.result({ json }, { cell: name, outcome }, [MoveText.endings[outcome]])
  }).pipe(Effect.catchTag("DatabaseRefused", ({ message }) => Effect.fail(new CommandFailed({ message }))))
).pipe(
  Command.withDescription("Move a cell to the database in its moves_to, while hosts use it; resumes a stopped move")
)
