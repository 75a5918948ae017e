import { Cell, Storage } from "@quotewire/core"
import { MemoryStorage } from "@quotewire/storage-memory"
import { PgCells } from "@quotewire/storage-pg/cells"
import { type Array, Context, Effect, Layer, Redacted, type Scope } from "effect"
import type { ServerName } from "../../../../test/support/PostgresServer.ts"
import { emptyDatabaseOn, statements, tables } from "../../../../test/support/TestDatabase.ts"
import * as CellList from "../../src/cells/CellList.ts"
import type { CellSource, NamedStorage, WrongCell } from "../../src/cells/CellState.ts"
import * as Cells from "../../src/cells/Cells.ts"
import type { Port } from "./hosts.ts"

/** A separate in-memory storage. */
export const memory: Effect.Effect<Port, never, Scope.Scope> = Effect.map(
  Layer.build(Layer.fresh(MemoryStorage.layer)),
  Context.get(Storage.Storage)
)

/** Names for cells, in order. */
export const names = ["first", "second", "third", "fourth"] as const

/** Adds storage backends as cells with the same room. */
export const addAll = Effect.fnUntraced(function* (cells: Array.NonEmptyReadonlyArray<NamedStorage>) {
  for (const cell of cells) yield* CellList.add(cells[0], cell, 1)
})

const sourceOf = ({ name, storage }: NamedStorage): CellSource<never> => ({
  name,
  open: Effect.succeed(storage)
})

/**
 * A storage backend made of these cells, as a separate host would open it. It claims work from all cells, unless some
 * are named.
 */
export const join = (
  [first, ...others]: Array.NonEmptyReadonlyArray<NamedStorage>,
  workCells?: ReadonlyArray<string>
): Effect.Effect<Port, WrongCell | Storage.StorageUnavailable, Scope.Scope> =>
  Cells.make<never>([sourceOf(first), ...others.map(sourceOf)], workCells)

/** Four cells in memory. */
export const fourInMemory = Effect.gen(function* () {
  const [first, ...others] = names
  const cells: Array.NonEmptyReadonlyArray<NamedStorage> = [
    { name: first, storage: yield* memory },
    ...(yield* Effect.forEach(others, (name) => Effect.map(memory, (storage) => ({ name, storage }))))
  ]
  yield* addAll(cells)
  return cells
})

/** Four cells on two servers, two on each, one of them in its own schema. */
export class FourCells extends Context.Service<
  FourCells,
  { readonly cells: PgCells.AllCells; readonly urls: ReadonlyArray<string> }
>()("test/FourCells") {
  /** The cells before they are migrated and added. */
  static readonly empty = Layer.effect(
    FourCells,
    Effect.gen(function* () {
      const one = yield* emptyOn("server")
      const other = yield* emptyOn("second_server")
      return {
        cells: [
          { name: names[0], ...one.options },
          { name: names[1], ...other.options },
          { name: names[2], ...one.options, schema: "third_cell" },
          { name: names[3], ...other.options, schema: "fourth_cell" }
        ],
        urls: [one.url, other.url]
      }
    })
  )

  /** The cells ready for use, with equal room. */
  static readonly layer = Layer.effect(
    FourCells,
    Effect.gen(function* () {
      const four = yield* FourCells
      for (const { name } of four.cells) yield* PgCells.add(four.cells, name, 1)
      return four
    })
  ).pipe(Layer.provide(FourCells.empty))
}

const emptyOn = (server: ServerName) =>
  Effect.acquireRelease(
    Effect.promise(() => emptyDatabaseOn(server)),
    ({ drop }) => Effect.promise(drop)
  )

/** Empties all cells. They stay cells, and workspaces stay where they are placed. */
export const emptyAll = Effect.flatMap(FourCells, ({ cells }) =>
  Effect.forEach(
    cells,
    ({ schema = "quotewire", url }) => {
      const deletes = tables.map(
        (table) => `delete from ${schema}.${table} where workspace_id <> '${Cell.cellsWorkspace}'`
      )
      return Effect.promise(() => statements(Redacted.value(url), deletes.join("; ")))
    },
    { concurrency: "unbounded", discard: true }
  )
)
