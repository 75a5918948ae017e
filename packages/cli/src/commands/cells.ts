import { PgCells } from "@quotewire/storage-pg/cells"
import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { cellsOf, flags, nameArgument, type Settings } from "../cells/CellSettings.ts"
import * as MoveText from "../cells/MoveText.ts"
import { moveCell } from "../cells/moveCell.ts"
import * as Database from "../service/Database.ts"
import { CommandFailed } from "../settings/CommandErrors.ts"
import { reportAllErrors } from "../settings/Parameters.ts"
import * as Output from "../terminal/Output.ts"

const reportOf = (settings: Settings) =>
  Effect.flatMap(cellsOf(settings), PgCells.report).pipe(
    Effect.catchTag("DatabaseRefused", ({ message }) => Effect.fail(new CommandFailed({ message })))
  )

/** If due jobs of a cell wait longer than this, in milliseconds, no host is running them. */
const maxWorkWaitsMs = 60_000

const isNeglected = ({ work_waits_ms }: PgCells.CellReport): boolean => work_waits_ms > maxWorkWaitsMs

const neglect = ({ work_waits_ms }: PgCells.CellReport): string =>
  `Due jobs have waited for ${Math.floor(work_waits_ms / 1_000)} seconds: check that a host runs this cell's jobs (--work-cells).`

const stateOf = (cell: PgCells.CellReport): string =>
  cell.refusal?.message ?? (isNeglected(cell) ? neglect(cell) : cell.room === null ? "Not added." : "Ready.")

const lineOf = (cell: PgCells.CellReport): string =>
  [
    cell.name,
    cell.room === null ? "not added" : `room ${cell.room}`,
    `${cell.workspaces} ${cell.workspaces === 1 ? "workspace" : "workspaces"}`,
    [stateOf(cell), ...MoveText.sentencesOf(cell)].join(" ")
  ].join("  ")

const printed = (cell: PgCells.CellReport) => ({
  cell: cell.name,
  room: cell.room,
  workspaces: cell.workspaces,
  ready: cell.refusal === null,
  message: cell.refusal?.message ?? (isNeglected(cell) ? neglect(cell) : null),
  move: cell.move
})

const print = ({ json }: Settings, report: ReadonlyArray<PgCells.CellReport>) =>
  Output.result({ json }, { cells: report.map(printed) }, report.map(lineOf))

const list = Command.make("list", reportAllErrors(flags), (settings) =>
  Effect.flatMap(reportOf(settings), (report) => print(settings, report))
).pipe(
  Command.withDescription("List the cells: their room, how many workspaces they have, and whether they can be used")
)

const check = Command.make("check", reportAllErrors(flags), (settings) =>
  Effect.gen(function* () {
    const report = yield* reportOf(settings)
    yield* print(settings, report)
    const faulty = report.filter(({ refusal, room }) => refusal !== null || (room === null && report.length > 1))
    if (faulty.length > 0) {
      return yield* new CommandFailed({ message: `${faulty.length} of ${report.length} cells are unusable.` })
    }
    const neglected = report.filter(isNeglected)
    if (neglected.length > 0) {
      return yield* new CommandFailed({ message: `Jobs are overdue in ${neglected.length} of ${report.length} cells.` })
    }
    if (report.some(MoveText.isStopped)) {
      return yield* new CommandFailed({ message: "A stopped move retains WAL on its server: resume or undo the move." })
    }
  })
).pipe(
  Command.withDescription(
    "List the cells, and fail if a cell cannot be used, its jobs wait too long, or a move was stopped"
  )
)

const roomFlag = Flag.Int("room").pipe(
  Flag.filter(
    (room) => room >= 0 && room <= 1_000,
    () => "--room must be a whole number from 0 to 1000"
  ),
  Flag.withDefault(1),
  Flag.withDescription("The cell's share of new workspaces: 1 by default, 2 for twice as many, 0 for none")
)

const dryRun = Flag.Boolean("dry-run").pipe(
  Flag.withDefault(false),
  Flag.withDescription("Print the current state of the cell, and change nothing")
)

const addFlags = { name: nameArgument, room: roomFlag, dry_run: dryRun, ...flags }

const add = Command.make("add", reportAllErrors(addFlags), (settings) =>
  Effect.gen(function* () {
    const { name, room } = settings
    if (!settings.dry_run) {
      const migrations = yield* PgCells.add(yield* cellsOf(settings), name, room).pipe(
        Effect.catchTag("DatabaseRefused", ({ message }) => Effect.fail(new CommandFailed({ message })))
      )
      yield* Database.printMigrations([{ cell: name, ran: migrations, failure: null }])
    }
    const report = (yield* reportOf(settings)).filter((cell) => cell.name === name)
    if (report.length === 0) return yield* new CommandFailed({ message: "The cells file has no cell with that name." })
    yield* print(settings, report)
  })
).pipe(
  Command.withDescription(
    "Add a cell: create its schema, and let it take new workspaces. Run it again to change the room"
  )
)

/** `quotewire cells` shows and moves a service's cells, the databases that its data is spread over. */
export const cells = Command.make("cells").pipe(
  Command.withDescription("Manage the cells of a service that uses several databases"),
  Command.withSubcommands([list, check, add, moveCell])
)
