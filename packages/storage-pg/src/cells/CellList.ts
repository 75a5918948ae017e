import { Cell, Change, Storage } from "@quotewire/core"
import { Clock, Effect, Option } from "effect"
import { markOf } from "../opening/open.ts"
import { type NamedStorage, WrongCell } from "./CellState.ts"

type Port = Storage.Storage["Service"]

/** Stores a record about cells. */
export const write = (storage: Port, record: Change.StoredRecord) =>
  Storage.commit(storage, Change.make(Cell.cellsWorkspace, { writes: [record] }))

/** Reads the list of cells. It is empty until a second cell is added. */
export const read = (home: Port): Effect.Effect<ReadonlyArray<Cell.Cell>, Storage.StorageUnavailable> =>
  Effect.map(
    Storage.readAll(home, { workspace_id: Cell.cellsWorkspace, kind: Cell.kind.name, order: "oldest", limit: 100 }),
    (records) => records.map(Cell.kind.value)
  )

/** Counts each cell's workspaces, by the cell's name. */
export const countPlaced = (home: Port): Effect.Effect<ReadonlyMap<string, number>, Storage.StorageUnavailable> =>
  Effect.suspend(() => {
    const counts = new Map<string, number>()
    const kind = Cell.placementKind
    const query = { workspace_id: Cell.cellsWorkspace, kind: kind.name, order: "oldest", limit: 1_000 } as const
    const count = (records: ReadonlyArray<Change.StoredRecord>) =>
      Effect.sync(() => {
        for (const { status } of records) if (status !== null) counts.set(status, (counts.get(status) ?? 0) + 1)
      })
    return Effect.as(Storage.eachPage(home, query, count), counts)
  })

/** Marks a storage backend as a cell of a map, unless it is marked already. */
const mark = Effect.fnUntraced(function* ({ name, storage }: NamedStorage, { first, map }: Omit<Cell.Mark, "name">) {
  const storedMark = yield* markOf(storage)
  if (storedMark !== null && storedMark.name !== name) {
    return yield* Effect.fail(
      new WrongCell(
        `The url of the cell ${name} in the settings is the database of the cell ${storedMark.name}: correct the url.`
      )
    )
  }
  if (storedMark !== null && storedMark.map !== map) {
    return yield* Effect.fail(
      new WrongCell(
        `The databases of the cells ${first} and ${name} belong to different installations: check their addresses.`
      )
    )
  }
  if (storedMark !== null) return
  const now = yield* Clock.currentTimeMillis
  const meta = { id: Cell.markId, version: 1, created_at: now, updated_at: now }
  yield* write(storage, Cell.markKind.record({ name, first, map }, meta))
})

/**
 * Adds a cell to the list of cells. If the cell is already listed, `any` changes its `room`, and `new` changes nothing.
 */
const enter = (home: Port, cell: Cell.Cell, entry: "new" | "any") =>
  Storage.retryOnConflict(
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const old = yield* home.get({ workspace_id: Cell.cellsWorkspace, kind: Cell.kind.name, id: cell.name })
      if (Option.isNone(old)) {
        const meta = { id: cell.name, version: 1, created_at: now, updated_at: now }
        yield* write(home, Cell.kind.record(cell, meta))
      } else if (entry === "any" && Cell.kind.value(old.value).room !== cell.room) {
        const { created_at, version } = old.value
        const meta = { id: cell.name, version: version + 1, created_at, updated_at: now }
        yield* write(home, Cell.kind.record(cell, meta))
      }
    })
  )

/**
 * Adds a cell: marks its storage, and adds it to the list of cells with its `room`. From then on the cell takes new
 * workspaces. If the cell is already in the list, only its `room` changes. A call that fails partway can be repeated.
 *
 * A new cell must be empty. The first call also adds the first cell, which may contain data.
 */
export const add = Effect.fnUntraced(function* (
  home: NamedStorage,
  cell: NamedStorage,
  room: number
): Effect.fn.Return<void, Storage.StorageUnavailable | Storage.VersionConflict | WrongCell> {
  const isNew = cell.name !== home.name && (yield* markOf(cell.storage)) === null
  if (isNew && (yield* cell.storage.workspaces(null, 1)).length > 0) {
    return yield* Effect.fail(
      new WrongCell(`The database of the cell ${cell.name} has data: a new cell must be empty.`)
    )
  }
  const { map } = (yield* markOf(home.storage)) ?? { map: yield* Effect.sync(() => crypto.randomUUID()) }
  const first = home.name
  yield* mark(home, { first, map })
  yield* enter(home.storage, { name: home.name, room: 1 }, "new")
  yield* mark(cell, { first, map })
  yield* enter(home.storage, { name: cell.name, room }, "any")
})
