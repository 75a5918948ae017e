import { assert, describe, it } from "@effect/vitest"
import type { Cell } from "@quotewire/core"
import { PgStorage } from "@quotewire/storage-pg"
import { PgCells } from "@quotewire/storage-pg/cells"
import { type Array, Effect, Layer, Redacted } from "effect"
import fc from "fast-check"
import { emptyDatabaseOn } from "../../../test/support/TestDatabase.ts"
import * as CellMap from "../src/cells/CellMap.ts"
import { FourCells } from "./support/cells.ts"

const addAll = (cells: PgCells.AllCells) =>
  Effect.forEach(cells, ({ name }) => PgCells.add(cells, name, 1), { discard: true })

/** What each command prints about these cells; null if it accepts them. */
const saidBy = (cells: PgCells.AllCells) => {
  const [{ name }] = cells
  const messageOf = Effect.match({
    onFailure: ({ message }: PgStorage.DatabaseRefused) => message,
    onSuccess: () => null
  })
  return Effect.all({
    start: Effect.scoped(messageOf(Layer.build(PgCells.layer(cells)))),
    report: Effect.match(PgCells.report(cells), {
      onFailure: ({ message }) => message,
      onSuccess: (all) => all.find(({ refusal }) => refusal !== null)?.refusal?.message ?? null
    }),
    migrate: Effect.map(PgCells.migrate(cells), ([first]) => first?.refusal?.message ?? null),
    add: messageOf(PgCells.add(cells, name, 1)),
    move: messageOf(PgCells.move(cells, name)),
    undo: messageOf(PgCells.undoMove(cells, name)),
    checkMove: messageOf(PgCells.checkMove(cells, name))
  })
}

const expectRefused = Effect.fnUntraced(function* (cells: PgCells.AllCells, words: RegExp) {
  for (const [command, message] of Object.entries(yield* saidBy(cells))) {
    assert.match(message ?? "accepted", words, command)
    assert.notInclude(message ?? "", "secret", command)
  }
})

const newDatabase = Effect.acquireRelease(
  Effect.promise(() => emptyDatabaseOn("server")),
  ({ drop }) => Effect.promise(drop)
)

const onFour = <A, E>(test: (cells: PgCells.AllCells) => Effect.Effect<A, E>) =>
  Effect.flatMap(FourCells, ({ cells }) => test(cells)).pipe(Effect.provide(FourCells.empty))

describe("cells that do not match their databases", () => {
  it.effect("are refused at startup and by every command, with an error that states the difference", () =>
    onFour(
      Effect.fnUntraced(function* (cells) {
        yield* addAll(cells)
        const [first, second, third, fourth] = cells
        if (second === undefined || third === undefined || fourth === undefined) return assert.fail()
        const withUrlOf = (cell: PgCells.CellOptions, other: PgCells.CellOptions): PgCells.CellOptions => ({
          ...other,
          name: cell.name
        })
        yield* expectRefused([second, first, third, fourth], /cell second first, but the first cell is first/)
        yield* expectRefused([second], /cell second first, but the first cell is first/)
        const swapped = [withUrlOf(first, second), withUrlOf(second, first), third, fourth] as const
        yield* expectRefused(swapped, /url of the cell first in the settings is the database of the cell second/)
        // `cells list` shows the missing cells as well as the others.
        yield* expectRefused([first, third], /Missing: fourth, second|The settings do not list this cell/)
      })
    )
  )

  it.effect("are refused if one database has no cell, or a cell from another installation", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const [home, other, strange, plain] = [
          yield* newDatabase,
          yield* newDatabase,
          yield* newDatabase,
          yield* newDatabase
        ]
        const one = { name: "one", url: Redacted.make(home.url) }
        const two = { name: "two", url: Redacted.make(other.url) }
        yield* addAll([one, two])
        const addTwo = (instead: PgCells.CellOptions) =>
          Effect.match(PgCells.add([one, instead], "two", 1), {
            onFailure: ({ message }) => message,
            onSuccess: () => null
          })
        const foreign = { name: "one", url: Redacted.make(strange.url) }
        yield* addAll([foreign])
        yield* expectRefused([foreign, two], /one and two belong to different installations/)
        yield* PgStorage.migrate(plain.options)
        yield* expectRefused(
          [{ name: "plain", ...plain.options }, two],
          /the first cell in the settings, plain, is not a cell/
        )
        const empty = yield* newDatabase
        for (const url of [plain.url, empty.url]) {
          const instead = { name: "two", url: Redacted.make(url) }
          yield* expectRefused([one, instead], /two was added before, but the database .* is not that cell/)
          assert.match((yield* addTwo(instead)) ?? "added", /two was added/)
        }
        const { add, migrate, report, start } = yield* saidBy([one, two])
        assert.deepStrictEqual([add, migrate, report, start], [null, null, null, null])
      })
    )
  )
})

describe("a cell map", () => {
  const mark = (name: string): Cell.Mark => ({ name, first: "c0", map: "map" })
  const named = (name: string, is: string): CellMap.NamedRecords => ({
    name,
    found: { mark: mark(is), listed: is === "c0" ? ["c0", "c1", "c2", "c3", "c4"] : [] }
  })
  const all = ["c0", "c1", "c2", "c3", "c4"]

  it("matches the settings only if each cell has its own database, and the first cell comes first", () => {
    const order = fc.shuffledSubarray(all, { minLength: 1 })
    fc.assert(
      fc.property(order, order, (names, places) => {
        const cells = names.slice(0, places.length).map((name, index) => named(name, places[index] ?? name))
        const isRight =
          cells.length === all.length && names[0] === "c0" && names.every((name, index) => places[index] === name)
        const [first, ...others] = cells
        if (first === undefined) return
        const settings: Array.NonEmptyReadonlyArray<CellMap.NamedRecords> = [first, ...others]
        assert.strictEqual(CellMap.mismatch(settings) === null, isRight)
      })
    )
    const [first = "", ...others] = all
    assert.isNull(CellMap.mismatch([named(first, first), ...others.toReversed().map((name) => named(name, name))]))
  })
})
