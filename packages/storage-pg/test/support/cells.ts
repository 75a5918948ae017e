import { Storage } from "@quotewire/core"
import { MemoryStorage } from "@quotewire/storage-memory"
import { type Array, Context, Effect, Layer, type Scope } from "effect"
import * as CellList from "../../src/cells/CellList.ts"
import type { CellSource, WrongCell } from "../../src/cells/CellState.ts"
import * as Cells from "../../src/cells/Cells.ts"
import type { Port } from "./hosts.ts"

/** A storage in memory of its own. */
export const memory: Effect.Effect<Port, never, Scope.Scope> = Effect.map(
  Layer.build(Layer.fresh(MemoryStorage.layer)),
  Context.get(Storage.Storage)
)

/** Names for cells, the first one first. */
export const names = ["first", "second", "third", "fourth"] as const

/** Adds storages as cells with the same room. */
export const addAll = Effect.fnUntraced(function* (cells: Array.NonEmptyReadonlyArray<CellList.NamedStorage>) {
  for (const cell of cells) yield* CellList.add(cells[0], cell, 1)
})

const sourceOf = ({ name, storage }: CellList.NamedStorage): CellSource<never> => ({
  name,
  open: Effect.succeed(storage)
})

/** A storage that is made of these cells, as a host of its own would open it. */
export const join = ([first, ...others]: Array.NonEmptyReadonlyArray<CellList.NamedStorage>): Effect.Effect<
  Port,
  WrongCell | Storage.StorageUnavailable,
  Scope.Scope
> => Cells.make<never>([sourceOf(first), ...others.map(sourceOf)])

/** Four cells in memory. */
export const fourInMemory = Effect.gen(function* () {
  const [first, ...others] = names
  const cells: Array.NonEmptyReadonlyArray<CellList.NamedStorage> = [
    { name: first, storage: yield* memory },
    ...(yield* Effect.forEach(others, (name) => Effect.map(memory, (storage) => ({ name, storage }))))
  ]
  yield* addAll(cells)
  return cells
})
