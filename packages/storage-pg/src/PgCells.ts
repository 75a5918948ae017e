import { Cell, Storage } from "@quotewire/core"
import { type Array, Clock, Context, Effect, Layer, Schema, type Scope } from "effect"
import * as CellList from "./cells/CellList.ts"
import { type CellSource, markOf, type WrongCell } from "./cells/CellState.ts"
import * as Cells from "./cells/Cells.ts"
import { DatabaseRefused } from "./connection/DatabaseRefused.ts"
import { inRealTime } from "./connection/inRealTime.ts"
import * as DatabaseClock from "./database/DatabaseClock.ts"
import * as DatabaseSchema from "./migrations/Schema.ts"
import * as MoveState from "./moves/MoveState.ts"
import { lostAtStart, type MovableOptions, type Opened, open } from "./opening/open.ts"
import * as LivePlace from "./places/LivePlace.ts"

export { isSchemaName } from "./connection/schemaName.ts"
export type { MoveSlot, MoveState } from "./moves/MoveState.ts"
export type { Outcome as MoveOutcome } from "./moves/moveCell.ts"
export { checkMove, type MoveOptions, move, undoMove } from "./moves/movesByName.ts"
export type { Progress as MoveProgress } from "./moves/Progress.ts"

/** A cell: a schema of a database, with all tables, that holds some of the workspaces. */
export interface CellOptions extends MovableOptions {
  /** Lower-case letters, digits and hyphens, at most 40. A cell keeps its name when its database moves. */
  readonly name: string
}

/** Whether a cell can have this name: lower-case letters, digits and hyphens, at most 40. */
export const isCellName: (name: string) => boolean = Schema.is(Cell.CellName)

/** The cells of a storage. The first one also keeps organizations, keys and the list of where workspaces live. */
export type AllCells = Array.NonEmptyReadonlyArray<CellOptions>

/** What a program does with its cells. */
export interface WorkOptions {
  /** The names of the cells that it claims jobs from, at least one; by default all. It answers calls for all cells. */
  readonly work_cells?: ReadonlyArray<string>
}

/** The first of these names that is not a cell; undefined if all are. */
export const unknownCell = (
  cells: ReadonlyArray<Pick<CellOptions, "name">>,
  names: ReadonlyArray<string>
): string | undefined => names.find((name) => !cells.some((cell) => cell.name === name))

const refused = (message: string) => new DatabaseRefused({ reason: "cell", message })

const unlessRefused = <A, R>(
  program: Effect.Effect<A, DatabaseRefused | WrongCell | Storage.StorageUnavailable | Storage.VersionConflict, R>
): Effect.Effect<A, DatabaseRefused, R> =>
  Effect.catchTags(program, {
    WrongCell: ({ message }) => Effect.fail(refused(message)),
    StorageUnavailable: () => Effect.fail(lostAtStart),
    VersionConflict: () => Effect.fail(refused("Another program is changing the list of cells: try again."))
  })

/** Opens all cells. The first one must be usable; the others may become usable later. */
const openAll = (
  [home, ...others]: AllCells,
  { work_cells }: WorkOptions
): Effect.Effect<{ readonly home: Opened; readonly storage: Opened["storage"] }, DatabaseRefused, Scope.Scope> =>
  Effect.gen(function* () {
    const names = [home, ...others].map(({ name }) => name)
    const twice = names.find((name, place) => names.indexOf(name) < place)
    if (twice !== undefined) return yield* refused(`Two cells are named ${twice}.`)
    const stranger = unknownCell([home, ...others], work_cells ?? [])
    if (stranger !== undefined) return yield* refused(`work_cells names ${stranger}, which is not a cell.`)
    if (work_cells?.length === 0) return yield* refused("work_cells must name at least one cell.")
    const opened = yield* open(home)
    const source = (cell: CellOptions): CellSource<DatabaseRefused> => ({
      name: cell.name,
      open: Effect.map(open(cell), ({ storage }) => storage)
    })
    const first: CellSource<DatabaseRefused> = { name: home.name, open: Effect.succeed(opened.storage) }
    return { home: opened, storage: yield* inRealTime(Cells.make([first, ...others.map(source)], work_cells)) }
  }).pipe(unlessRefused)

/**
 * A storage on several PostgreSQL databases, its cells. Every workspace lives in one of them. Run `migrate` first, and `add`
 * for every cell but the first.
 *
 * The layer fails with `DatabaseRefused` if the first cell cannot be used. While another cell cannot be used, calls for its
 * workspaces fail with `StorageUnavailable`, and a log line says why.
 */
export const layer = (cells: AllCells, options: WorkOptions = {}): Layer.Layer<Storage.Storage, DatabaseRefused> =>
  Layer.effect(
    Storage.Storage,
    Effect.map(openAll(cells, options), ({ storage }) => storage)
  )

/** Like `layer`, and provides the clock of the first cell's database instead of the host's. */
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

/** Migrates a cell where it is. */
const migrateWhereItIs = (cell: CellOptions): Effect.Effect<ReadonlyArray<string>, DatabaseRefused> =>
  Effect.flatMap(LivePlace.find(cell), (url) => DatabaseSchema.migrate({ ...cell, url }))

/** What a migration did in one cell. */
export interface CellMigration {
  readonly name: string
  /** The names of the migrations that ran. */
  readonly ran: ReadonlyArray<string>
  /** Why the cell was not migrated; null if it was. */
  readonly refusal: DatabaseRefused | null
}

/** Migrates one cell after the other. A cell that cannot be migrated does not stop the others. */
export const migrate = (cells: ReadonlyArray<CellOptions>): Effect.Effect<ReadonlyArray<CellMigration>> =>
  Effect.forEach(cells, (cell) =>
    Effect.match(migrateWhereItIs(cell), {
      onSuccess: (ran): CellMigration => ({ name: cell.name, ran, refusal: null }),
      onFailure: (refusal) => ({ name: cell.name, ran: [], refusal })
    })
  )

/** A cell as it is now. */
export interface CellReport {
  readonly name: string
  /** Its part of the new workspaces; null if it was not added. */
  readonly room: number | null
  /** How many workspaces are placed in it. One from before there were cells counts when something is next written in it. */
  readonly workspaces: number
  /** Why it cannot be used; null if it can. */
  readonly refusal: DatabaseRefused | null
  /** For how long its oldest due job has waited to be claimed, in milliseconds; 0 if none waits or it cannot be used. */
  readonly work_waits_ms: number
  /** Its move; null if its old place does not answer. */
  readonly move: MoveState.MoveState | null
}

const useHome = <A>(
  [home]: AllCells,
  use: (
    home: CellList.NamedStorage
  ) => Effect.Effect<A, DatabaseRefused | WrongCell | Storage.StorageUnavailable, Scope.Scope>
): Effect.Effect<A, DatabaseRefused> =>
  Effect.flatMap(open(home), ({ storage }) => use({ name: home.name, storage })).pipe(Effect.scoped, unlessRefused)

/** For how long the oldest due job has waited. A claim at the beginning of time takes nothing, and says when the next is due. */
const workWaits = Effect.fnUntraced(function* (storage: Opened["storage"]) {
  const { next_due_at } = yield* storage.claim({ now: 0, lease_ms: 1, limit: 1 })
  const now = yield* Clock.currentTimeMillis
  return next_due_at === null ? 0 : Math.max(0, now - next_due_at)
})

type Examined = Pick<CellReport, "refusal" | "work_waits_ms">

const unusable = (refusal: DatabaseRefused): Examined => ({ refusal, work_waits_ms: 0 })

/** Why a cell of the settings cannot be used, if it cannot, and how long its work has waited. */
const examine = (cell: CellOptions, added: Cell.Cell | undefined): Effect.Effect<Examined> =>
  Effect.gen(function* () {
    const { storage } = yield* open(cell)
    const mark = yield* markOf(storage)
    if (mark === cell.name || (mark === null && added === undefined)) {
      return { refusal: null, work_waits_ms: yield* workWaits(storage) }
    }
    return yield* refused(
      mark === null
        ? `The list names the cell ${cell.name}, but its database is not marked as one.`
        : `Its database is that of the cell ${mark}.`
    )
  }).pipe(
    unlessRefused,
    Effect.catch((refusal) => Effect.succeed(unusable(refusal))),
    Effect.scoped
  )

/** All cells of the settings and of the list, as they are now. Only reads. Fails if the first cell cannot be used. */
export const report = (cells: AllCells): Effect.Effect<ReadonlyArray<CellReport>, DatabaseRefused> =>
  useHome(cells, ({ storage }) =>
    Effect.gen(function* () {
      const added = new Map((yield* CellList.read(storage)).map((cell) => [cell.name, cell]))
      const counts = yield* CellList.countPlaced(storage)
      const named = cells.map(({ name }) => name)
      const examined = yield* Effect.forEach(
        cells,
        (cell) =>
          Effect.all({
            name: Effect.succeed(cell.name),
            examined: examine(cell, added.get(cell.name)),
            move: Effect.orElseSucceed(MoveState.read(cell), () => null)
          }),
        { concurrency: 8 }
      )
      const missing = [...added.keys()]
        .filter((name) => !named.includes(name))
        .map((name) => ({ name, examined: unusable(refused("The settings do not have it.")), move: null }))
      const own = examined.map(({ move }) => move?.slot?.name)
      return [...examined, ...missing].map(
        ({ examined, move, name }): CellReport => ({
          name,
          ...examined,
          move: move && { ...move, other_slots: move.other_slots.filter(({ name }) => !own.includes(name)) },
          room: added.get(name)?.room ?? null,
          workspaces: counts.get(name) ?? 0
        })
      )
    })
  )

/**
 * Adds a cell of the settings: migrates its schema, marks it, and enters it into the list. From then on it takes its part of
 * the new workspaces, by `room`; 0 takes none. For a cell that was added before, it changes the room. Returns the names of the
 * migrations that ran. It can be repeated after it was stopped at any point.
 *
 * Start every host with the settings that have the new cell first: a host without them cannot serve its workspaces.
 */
export const add = (
  cells: AllCells,
  name: string,
  room: number
): Effect.Effect<ReadonlyArray<string>, DatabaseRefused> => {
  const cell = cells.find((cell) => cell.name === name)
  if (cell === undefined) return Effect.fail(refused(`The settings have no cell ${name}.`))
  const enter = useHome(cells, (home) =>
    Effect.gen(function* () {
      const storage = cell === cells[0] ? home.storage : (yield* open(cell)).storage
      yield* unlessRefused(CellList.add(home, { name, storage }, room))
    })
  )
  return Effect.tap(migrateWhereItIs(cell), enter)
}
