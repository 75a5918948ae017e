import { assert, describe, it } from "@effect/vitest"
import type { Change, Storage } from "@quotewire/core"
import { PgCells } from "@quotewire/storage-pg/cells"
import { Effect, type Scope } from "effect"
import { TestClock } from "effect/testing"
import * as CellList from "../src/cells/CellList.ts"
import { WrongCell } from "../src/cells/CellState.ts"
import * as Cells from "../src/cells/Cells.ts"
import { markOf } from "../src/opening/open.ts"
import { type All, claimed, contents, lost, placedIn, work } from "./support/cellCalls.ts"
import { fourInMemory, join, memory, names } from "./support/cells.ts"
import { type Port, workspace } from "./support/hosts.ts"

describe("opening cells", () => {
  const sources = Effect.gen(function* () {
    const [first, second] = yield* fourInMemory
    if (second === undefined) return yield* Effect.die(new Error("there are four"))
    return { first, second }
  })
  const open = (storage: Port): Effect.Effect<Port, never, Scope.Scope> => Effect.succeed(storage)

  it.effect("continues without an unavailable cell, and uses the cell as soon as it can be opened", () =>
    Effect.gen(function* () {
      const { first, second } = yield* sources
      const both = yield* join([first, second])
      const there = yield* placedIn(both, second)
      let isThere = false
      const storage = yield* Cells.make<Storage.StorageUnavailable>([
        { name: first.name, open: open(first.storage) },
        { name: second.name, open: Effect.suspend(() => (isThere ? open(second.storage) : lost)) }
      ])
      const hints: Array<Change.Hint> = []
      yield* storage.watch((hint) => hints.push(hint))
      yield* Effect.flip(storage.commit(work(there, 10)))
      isThere = true
      yield* TestClock.adjust(3_000)
      yield* storage.commit(work(there, 10))
      assert.deepStrictEqual(hints, [{ about: "jobs", workspace_id: workspace(there) }])
      assert.deepStrictEqual(yield* claimed(storage, 10), [workspace(there)])
    })
  )

  it.effect("never uses a cell from another installation, even if the cell was unavailable at startup", () =>
    Effect.gen(function* () {
      const { first, second } = yield* sources
      const both = yield* join([first, second])
      const there = yield* placedIn(both, second)
      const [, foreign = second] = yield* fourInMemory
      assert.strictEqual(foreign.name, second.name)
      let found: Effect.Effect<Port, Storage.StorageUnavailable> = lost
      const storage = yield* Cells.make<Storage.StorageUnavailable>([
        { name: first.name, open: open(first.storage) },
        { name: second.name, open: Effect.suspend(() => found) }
      ])
      const refused = Effect.flip(storage.commit(work(there, 10)))
      yield* refused
      found = Effect.succeed(foreign.storage)
      yield* TestClock.adjust(3_000)
      yield* refused
      assert.deepStrictEqual(yield* Effect.map(contents([foreign]), (all) => all.map(({ length }) => length)), [0])
      found = Effect.succeed(second.storage)
      yield* TestClock.adjust(3_000)
      yield* storage.commit(work(there, 10))
    })
  )

  it.effect("detects swapped database addresses", () =>
    Effect.gen(function* () {
      const { first, second } = yield* sources
      const error = yield* Effect.flip(
        join([
          { name: first.name, storage: second.storage },
          { name: second.name, storage: first.storage }
        ])
      )
      assert.instanceOf(error, WrongCell)
      assert.include(error instanceof WrongCell ? error.message : "", "second")
    })
  )

  it.effect("does not use a cell that was never added", () =>
    Effect.gen(function* () {
      const cells: All = [
        { name: "old", storage: yield* memory },
        { name: "new", storage: yield* memory }
      ]
      const storage = yield* join(cells)
      for (let place = 1; place < 20; place++) yield* storage.commit(work(place, 10))
      assert.deepStrictEqual(
        (yield* contents(cells)).map(({ length }) => length),
        [19, 0]
      )
    })
  )
})

describe("adding a cell", () => {
  it.effect("can be repeated to change how much room the cell has", () =>
    Effect.gen(function* () {
      const home = { name: "one", storage: yield* memory }
      const other = { name: "two", storage: yield* memory }
      for (const room of [1, 1, 3]) yield* CellList.add(home, other, room)
      assert.deepStrictEqual(yield* CellList.read(home.storage), [
        { name: "one", room: 1 },
        { name: "two", room: 3 }
      ])
      const marks = [yield* markOf(home.storage), yield* markOf(other.storage)]
      assert.deepStrictEqual(
        marks.map((mark) => [mark?.name, mark?.first]),
        [
          ["one", "one"],
          ["two", "one"]
        ]
      )
      assert.strictEqual(marks[0]?.map, marks[1]?.map)
    })
  )

  it.effect("refuses a database that has data or already is a cell", () =>
    Effect.gen(function* () {
      const [first, second] = yield* fourInMemory
      if (second === undefined) return assert.fail()
      const used = yield* memory
      yield* used.commit(work(1, 10))
      for (const storage of [used, second.storage, first.storage]) {
        const error = yield* Effect.flip(CellList.add(first, { name: "fifth", storage }, 1))
        assert.instanceOf(error, WrongCell)
      }
      assert.deepStrictEqual((yield* CellList.read(first.storage)).map(({ name }) => name).sort(), [...names].sort())
    })
  )
})

describe("a cell's name", () => {
  it("consists of lower-case letters, digits and hyphens", () => {
    assert.deepStrictEqual(["a", "eu-1", "A", "", "-a", "a b", "a".repeat(41)].map(PgCells.isCellName), [
      true,
      true,
      false,
      false,
      false,
      false,
      false
    ])
  })
})
