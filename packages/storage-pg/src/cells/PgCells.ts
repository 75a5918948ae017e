import { Cell, Storage } from "@quotewire/core"
import { type Array, Clock, Context, Effect, Layer, Result, Schema, type Scope } from "effect"
import { targetOf } from "../connection/Address.ts"
import { cellRefused, type DatabaseRefused } from "../connection/DatabaseRefused.ts"
import { inRealTime } from "../connection/inRealTime.ts"
import * as DatabaseClock from "../database/DatabaseClock.ts"
import * as Listener from "../hints/Listener.ts"
import type { MigrateOptions, SchemaStatus } from "../migrations/Schema.ts"
import * as MoveState from "../moves/MoveState.ts"
import type { Outcome } from "../moves/moveCell.ts"
import * as movesByName from "../moves/movesByName.ts"
import { lostAtStart, markOf, type OpenedStorage } from "../opening/open.ts"
import * as PlacedSchema from "../places/PlacedSchema.ts"
import * as CellList from "./CellList.ts"
import * as CellMap from "./CellMap.ts"
import type { CellSource, NamedStorage, WrongCell } from "./CellState.ts"
import * as Cells from "./Cells.ts"

export { isSchemaName } from "../connection/Address.ts"
export type { Progress as MoveProgress } from "../moves/Move.ts"
export type { MoveSlot, MoveState } from "../moves/MoveState.ts"
export type { Outcome as MoveOutcome } from "../moves/moveCell.ts"
export type { MoveOptions } from "../moves/movesByName.ts"

/** A cell: a database schema that has all tables and contains some of the workspaces. */
export interface CellOptions extends PlacedSchema.MovableOptions {
  /**
   * The cell's name: lower-case letters, digits and hyphens, at most 40. It stays the same when the cell moves to
   * another database.
   */
  readonly name: string
}

/** Whether a cell can have this name: lower-case letters, digits and hyphens, at most 40. */
export const isCellName: (name: string) => boolean = Schema.is(Cell.CellName)

/**
 * The cells of a storage backend. The first cell also stores the organizations, the keys and the list of which cell
 * each workspace is in.
 */
export type AllCells = Array.NonEmptyReadonlyArray<CellOptions>

/** Which jobs a program runs. */
export interface WorkOptions {
  /**
   * The names of the cells whose jobs the program claims, at least one; by default all cells. The program serves calls
   * for all cells, whichever are named here.
   */
  readonly work_cells?: ReadonlyArray<string>
}

/** The first of these names that is not the name of a cell; undefined if each name belongs to a cell. */
export const unknownCell = (
  cells: ReadonlyArray<Pick<CellOptions, "name">>,
  names: ReadonlyArray<string>
): string | undefined => names.find((name) => !cells.some((cell) => cell.name === name))

const unlessRefused = <A, R>(
  program: Effect.Effect<A, DatabaseRefused | WrongCell | Storage.StorageUnavailable | Storage.VersionConflict, R>
): Effect.Effect<A, DatabaseRefused, R> =>
  Effect.catchTags(program, {
    WrongCell: ({ message }) => Effect.fail(cellRefused(message)),
    StorageUnavailable: () => Effect.fail(lostAtStart),
    VersionConflict: () => Effect.fail(cellRefused("Another program is changing the list of cells. Try again."))
  })

/**
 * Makes each cell that shares its server with another cell write with one statement at a time, unless its settings say
 * otherwise. With two statements at a time, each would contain fewer changes (docs/decisions/tuning.md).
 */
const withWriters = ([first, ...others]: AllCells): AllCells => {
  const placeOf = ({ url }: CellOptions) => targetOf(url)?.place ?? null
  const places = [first, ...others].map(placeOf)
  const isShared = (cell: CellOptions) => places.filter((place) => place === placeOf(cell)).length > 1
  const settled = (cell: CellOptions): CellOptions => (isShared(cell) ? { writers: 1, ...cell } : cell)
  return [settled(first), ...others.map(settled)]
}

/** Opens all cells. The first cell must be usable immediately; the others may become usable later. */
const openAll = (
  cells: AllCells,
  { work_cells }: WorkOptions
): Effect.Effect<
  { readonly home: OpenedStorage; readonly storage: OpenedStorage["storage"] },
  DatabaseRefused,
  Scope.Scope
> =>
  Effect.gen(function* () {
    const [home, ...others] = withWriters(cells)
    const names = [home, ...others].map(({ name }) => name)
    const twice = names.find((name, place) => names.indexOf(name) < place)
    if (twice !== undefined) return yield* cellRefused(`Two cells are named ${twice}.`)
    const stranger = unknownCell([home, ...others], work_cells ?? [])
    if (stranger !== undefined) return yield* cellRefused(`work_cells names ${stranger}, which is not a cell.`)
    if (work_cells?.length === 0) return yield* cellRefused("work_cells must name at least one cell.")
    // Cells in the same database share one listening connection.
    const listen = yield* Listener.make
    const opened = yield* PlacedSchema.open(home, listen)
    const source = (cell: CellOptions): CellSource<DatabaseRefused> => ({
      name: cell.name,
      open: Effect.map(PlacedSchema.open(cell, listen), (placed) => placed.storage)
    })
    const first: CellSource<DatabaseRefused> = { name: home.name, open: Effect.succeed(opened.storage) }
    const cellStorage = Cells.make([first, ...others.map(source)], work_cells)
    const { storage } = yield* inRealTime(
      Effect.all({ storage: cellStorage, verified: CellMap.verify([home, ...others]) }, { concurrency: 2 })
    )
    return { home: opened, storage }
  }).pipe(unlessRefused)

/**
 * A storage backend that consists of several PostgreSQL databases, its cells. Every workspace is in one cell. Run
 * `migrate` first, and `add` for every cell except the first.
 *
 * The layer fails with `DatabaseRefused` if the first cell cannot be used. While another cell cannot be used, calls for
 * its workspaces fail with `StorageUnavailable`, and a log line says why.
 */
export const layer = (cells: AllCells, options: WorkOptions = {}): Layer.Layer<Storage.Storage, DatabaseRefused> =>
  Layer.effect(
    Storage.Storage,
    Effect.map(openAll(cells, options), ({ storage }) => storage)
  )

/** Like `layer`, and also provides the clock of the first cell's database instead of the host's clock. */
export const layerWithClock = (
  cells: AllCells,
  options: WorkOptions = {}
): Layer.Layer<Storage.Storage, DatabaseRefused> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const { home, storage } = yield* openAll(cells, options)
      const clock = yield* unlessRefused(DatabaseClock.make(home.database))
      return Context.make(Storage.Storage, storage).pipe(Context.add(Clock.Clock, clock))
    })
  )

/** The result of a migration in one cell. */
export interface CellMigration {
  readonly name: string
  /** The names of the migrations that ran. */
  readonly ran: ReadonlyArray<string>
  /** Why the cell was not migrated; null if the migration succeeded. */
  readonly refusal: DatabaseRefused | null
}

/** Asks the cells one after the other. Asks no cell if the settings do not match the databases. */
const inEach = <A>(
  cells: AllCells,
  ask: (cell: CellOptions) => Effect.Effect<A, DatabaseRefused>
): Effect.Effect<ReadonlyArray<readonly [name: string, Result.Result<A, DatabaseRefused>]>> =>
  Effect.flatMap(Effect.result(CellMap.verify(cells)), (verified) =>
    Effect.forEach(cells, (cell) =>
      Effect.map(
        Result.isSuccess(verified) ? Effect.result(ask(cell)) : Effect.succeed(Result.fail(verified.failure)),
        (result) => [cell.name, result] as const
      )
    )
  )

/**
 * Migrates the cells one after the other. A cell that cannot be migrated does not stop the others. If the settings do
 * not match the databases, no cell is migrated.
 */
export const migrate = (cells: AllCells, options: MigrateOptions = {}): Effect.Effect<ReadonlyArray<CellMigration>> =>
  Effect.map(
    inEach(cells, (cell) => PlacedSchema.migrate(cell, options)),
    (migrations) =>
      migrations.map(([name, result]) =>
        Result.isSuccess(result)
          ? { name, ran: result.success, refusal: null }
          : { name, ran: [], refusal: result.failure }
      )
  )

/** Which migrations a cell has run. */
export interface CellStatus {
  readonly name: string
  /** Null if the status could not be read. */
  readonly status: SchemaStatus | null
  /** Why the status could not be read; null if it was read. */
  readonly refusal: DatabaseRefused | null
}

/** Reads which migrations each cell has run, in the database where the cell currently is. */
export const status = (cells: AllCells): Effect.Effect<ReadonlyArray<CellStatus>> =>
  Effect.map(inEach(cells, PlacedSchema.status), (statuses) =>
    statuses.map(([name, result]) =>
      Result.isSuccess(result)
        ? { name, status: result.success, refusal: null }
        : { name, status: null, refusal: result.failure }
    )
  )

/** The current state of a cell. */
export interface CellReport {
  readonly name: string
  /** The cell's share of new workspaces, relative to the other cells' shares; null if the cell was not added. */
  readonly room: number | null
  /**
   * How many workspaces are assigned to the cell. A workspace that is older than the cells is counted only after the
   * next write to it.
   */
  readonly workspaces: number
  /** Why the cell cannot be used; null if it can. */
  readonly refusal: DatabaseRefused | null
  /**
   * How long the cell's oldest due job has waited to be claimed, in milliseconds; 0 if no job is waiting or the cell
   * cannot be used.
   */
  readonly work_waits_ms: number
  /** The state of the cell's move; null if its old database does not respond. */
  readonly move: MoveState.MoveState | null
}

const useHome = <A>(
  [home]: AllCells,
  body: (home: NamedStorage) => Effect.Effect<A, DatabaseRefused | WrongCell | Storage.StorageUnavailable, Scope.Scope>
): Effect.Effect<A, DatabaseRefused> =>
  Effect.flatMap(PlacedSchema.open(home), ({ storage }) => body({ name: home.name, storage })).pipe(
    Effect.scoped,
    unlessRefused
  )

/** How long the oldest due job has waited. A claim at time 0 takes no jobs but returns the next job's due time. */
const workWaits = Effect.fnUntraced(function* (storage: OpenedStorage["storage"]) {
  const { next_due_at } = yield* storage.claim({ now: 0, lease_ms: 1, limit: 1 })
  const now = yield* Clock.currentTimeMillis
  return next_due_at === null ? 0 : Math.max(0, now - next_due_at)
})

type Examined = Pick<CellReport, "refusal" | "work_waits_ms">

const unusable = (refusal: DatabaseRefused): Examined => ({ refusal, work_waits_ms: 0 })

/** Finds out whether a cell in the settings can be used, and how long its jobs have waited. */
const examine = (cell: CellOptions, firstCell: CellMap.NamedRecords): Effect.Effect<Examined> =>
  Effect.gen(function* () {
    const refusal = CellMap.refusalOf(yield* CellMap.ask(cell), firstCell)
    if (refusal !== null) return yield* cellRefused(refusal)
    const { storage } = yield* PlacedSchema.open(cell)
    return { refusal: null, work_waits_ms: yield* workWaits(storage) }
  }).pipe(
    unlessRefused,
    Effect.catch((refusal) => Effect.succeed(unusable(refusal))),
    Effect.scoped
  )

/**
 * Reports the current state of all cells in the settings and in the list of cells. Read-only. Fails if the first cell
 * cannot be used.
 */
export const report = (cells: AllCells): Effect.Effect<ReadonlyArray<CellReport>, DatabaseRefused> =>
  useHome(cells, (home) =>
    Effect.gen(function* () {
      const added = new Map((yield* CellList.read(home.storage)).map((cell) => [cell.name, cell]))
      const first = { name: home.name, found: { mark: yield* markOf(home.storage), listed: [...added.keys()] } }
      const refusal = CellMap.refusalOf(first, first) ?? CellMap.refusalOfFirst(first)
      if (refusal !== null) return yield* cellRefused(refusal)
      const counts = yield* CellList.countPlaced(home.storage)
      const named = cells.map(({ name }) => name)
      const examined = yield* Effect.forEach(
        cells,
        (cell) =>
          Effect.all({
            name: Effect.succeed(cell.name),
            examined: examine(cell, first),
            move: Effect.orElseSucceed(MoveState.read(cell), () => null)
          }),
        { concurrency: 8 }
      )
      const missingCells = [...added.keys()]
        .filter((name) => !named.includes(name))
        .map((name) => ({ name, examined: unusable(cellRefused("The settings do not list this cell.")), move: null }))
      const slotNames = examined.map((cell) => cell.move?.slot?.name)
      return [...examined, ...missingCells].map(
        (cell): CellReport => ({
          name: cell.name,
          ...cell.examined,
          move: cell.move && {
            ...cell.move,
            other_slots: cell.move.other_slots.filter(({ name }) => !slotNames.includes(name))
          },
          room: added.get(cell.name)?.room ?? null,
          workspaces: counts.get(cell.name) ?? 0
        })
      )
    })
  )

/**
 * Adds a cell from the settings: migrates its schema, marks it, and adds it to the list of cells. From then on the cell
 * takes a share of the new workspaces in proportion to `room`; with 0 it takes no workspaces. If the cell was already
 * added, only its room changes. Returns the names of the migrations that ran. If a call stops partway, it can be
 * repeated.
 *
 * Before you add a cell, restart every host with settings that include it. A host without these settings cannot serve
 * the cell's workspaces.
 */
export const add = (
  cells: AllCells,
  name: string,
  room: number
): Effect.Effect<ReadonlyArray<string>, DatabaseRefused> => {
  const cell = cells.find((candidate) => candidate.name === name)
  if (cell === undefined) return Effect.fail(cellRefused(`The settings do not list a cell named ${name}.`))
  const enter = useHome(cells, (home) =>
    Effect.gen(function* () {
      const storage = cell === cells[0] ? home.storage : (yield* PlacedSchema.open(cell)).storage
      yield* unlessRefused(CellList.add(home, { name, storage }, room))
    })
  )
  return Effect.andThen(CellMap.verify(cells), Effect.tap(PlacedSchema.migrate(cell), enter))
}

/** Lists why a cell cannot move to its `moves_to`, one sentence for each reason; empty if it can move. Read-only. */
export const checkMove = (cells: AllCells, name: string): Effect.Effect<ReadonlyArray<string>, DatabaseRefused> =>
  Effect.andThen(CellMap.verify(cells), movesByName.checkMove(cells, name))

/**
 * Moves a cell from its `url` to its `moves_to` while hosts use it, or resumes a stopped move. Hosts that were started
 * with both addresses fail over automatically; their calls wait less than a second. For a cell on Citus it fails, and
 * the error names the Citus call that moves the cell.
 */
export const move = (
  cells: AllCells,
  name: string,
  options: movesByName.MoveOptions = {}
): Effect.Effect<Outcome, DatabaseRefused> =>
  Effect.andThen(CellMap.verify(cells), movesByName.move(cells, name, options))

/** Undoes a move that stopped before its cutover, and removes everything that it created. */
export const undoMove = (
  cells: AllCells,
  name: string,
  options: movesByName.MoveOptions = {}
): Effect.Effect<Outcome, DatabaseRefused> =>
  Effect.andThen(CellMap.verify(cells), movesByName.undoMove(cells, name, options))

/**
 * Ends a move whose old or new server is permanently lost. The cell continues on the other server. On the new server,
 * the last commits of the old server may be missing; on the old server, everything since the cutover is missing. Fails
 * while the lost server still responds, or if the other server does not have all tables.
 */
export const endMoveWithout = (
  cells: AllCells,
  name: string,
  lostEnd: "old" | "new",
  options: movesByName.MoveOptions = {}
): Effect.Effect<Outcome, DatabaseRefused> =>
  Effect.andThen(CellMap.verify(cells), movesByName.endMoveWithout(cells, name, lostEnd, options))
