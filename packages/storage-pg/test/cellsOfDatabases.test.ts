import { assert, describe, it } from "@effect/vitest"
import { Change, Storage } from "@quotewire/core"
import { PgStorage } from "@quotewire/storage-pg"
import { PgCells } from "@quotewire/storage-pg/cells"
import { Context, Effect, Layer, Redacted, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { eventually } from "../../../test/support/eventually.ts"
import { statements } from "../../../test/support/TestDatabase.ts"
import { FourCells, names } from "./support/cells.ts"
import { type Port, workspace } from "./support/hosts.ts"

const [first, second, third, fourth] = names

const open = (cells: PgCells.AllCells): Effect.Effect<Port, PgStorage.DatabaseRefused, Scope.Scope> =>
  Effect.map(Layer.build(PgCells.layer(cells)), Context.get(Storage.Storage))

const work = (place: number) =>
  Change.make(workspace(place), { jobs: [{ kind: "collect", due_at: 10, ordered: false, payload: "{}" }] })

const cellNamed = (cells: PgCells.AllCells, name: string): PgCells.CellOptions =>
  cells.find((cell) => cell.name === name) ?? cells[0]

const sql = ({ url }: PgCells.CellOptions, ...texts: ReadonlyArray<string>) =>
  Effect.promise(() => statements(Redacted.value(url), ...texts))

const states = (cells: PgCells.AllCells) =>
  Effect.map(PgCells.report(cells), (all) => all.map(({ name, refusal }) => [name, refusal?.reason ?? "ready"]))

const addAll = (cells: PgCells.AllCells) =>
  Effect.forEach(cells, ({ name }) => PgCells.add(cells, name, 1), { discard: true })

const onFour = <A, E>(test: (cells: PgCells.AllCells) => Effect.Effect<A, E, Scope.Scope>) =>
  Effect.flatMap(FourCells, ({ cells }) => test(cells)).pipe(Effect.provide(FourCells.empty))

/** The number of a workspace that lives in the third cell. */
const placedInThird = Effect.fnUntraced(function* (cells: PgCells.AllCells) {
  const storage = yield* open(cells)
  for (let place = 1_000; place < 1_100; place++) {
    yield* storage.commit(work(place))
    const found = yield* sql(
      cellNamed(cells, third),
      `select from third_cell.workspace where workspace_id = '${workspace(place)}'`
    )
    if (found.length > 0) return place
  }
  return yield* Effect.die(new Error("none was placed in the third cell"))
})

describe("cells in databases", () => {
  it.effect("can be used once they are migrated, even if another cell's migration fails", () =>
    onFour(
      Effect.fnUntraced(function* (cells) {
        yield* addAll(cells)
        const inThird = yield* Effect.scoped(placedInThird(cells))
        // The migrations of the third cell are unknown.
        const broken = cellNamed(cells, third)
        yield* sql(broken, "alter table third_cell.migration rename to migration_kept")
        assert.deepStrictEqual(
          (yield* PgCells.migrate(cells)).map(({ name, ran, refusal }) => [name, ran, refusal?.reason ?? null]),
          [
            [first, [], null],
            [second, [], null],
            [third, [], "half_made_schema"],
            [fourth, [], null]
          ]
        )
        assert.deepStrictEqual(yield* states(cells), [
          [first, "ready"],
          [second, "ready"],
          [third, "older_schema"],
          [fourth, "ready"]
        ])

        const storage = yield* open(cells)
        yield* storage.ready
        assert.strictEqual((yield* Effect.flip(storage.commit(work(inThird))))._tag, "StorageUnavailable")
        const commits = Array.from({ length: 30 }, (_, place) => storage.commit(work(place + 1)))
        yield* Effect.all(commits, { concurrency: "unbounded" })
        assert.isAbove((yield* storage.claim({ now: 10, lease_ms: 1_000, limit: 100 })).jobs.length, 0)
        yield* Effect.flip(storage.workspaces(null, 100))

        yield* sql(broken, "alter table third_cell.migration_kept rename to migration")
        yield* eventually(storage.workspaces(null, 100))
        yield* storage.commit(work(inThird))
      })
    )
  )

  it.effect("are listed with their room, workspaces, oldest waiting work, and problems", () =>
    onFour(
      Effect.fnUntraced(function* (cells) {
        const [home, ...others] = cells
        assert.deepStrictEqual(yield* PgCells.add(cells, first, 1), ["begin"])
        assert.deepStrictEqual(yield* PgCells.add(cells, second, 2), ["begin"])
        assert.deepStrictEqual(yield* PgCells.add(cells, second, 0), [])
        const storage = yield* open(cells)
        yield* storage.commit(work(1))
        yield* TestClock.setTime(90_010)
        const listed = (yield* PgCells.report(cells)).map(({ name, refusal, room, work_waits_ms, workspaces }) => ({
          name,
          room,
          workspaces,
          work_waits_ms,
          reason: refusal?.reason ?? null
        }))
        assert.deepStrictEqual(listed, [
          { name: first, room: 1, workspaces: 1, work_waits_ms: 90_000, reason: null },
          { name: second, room: 0, workspaces: 0, work_waits_ms: 0, reason: null },
          { name: third, room: null, workspaces: 0, work_waits_ms: 0, reason: "older_schema" },
          { name: fourth, room: null, workspaces: 0, work_waits_ms: 0, reason: "older_schema" }
        ])
        const forgotten = (yield* PgCells.report([home, ...others.slice(1)])).find(({ name }) => name === second)
        assert.strictEqual(forgotten?.refusal?.message, "The settings do not list this cell.")
      })
    )
  )

  it.effect("cannot be opened individually, twice under one name, or in place of each other", () =>
    onFour(
      Effect.fnUntraced(function* (cells) {
        yield* addAll(cells)
        const [home, other] = cells
        if (other === undefined) return assert.fail()
        const refusals = [
          Layer.build(PgStorage.layer(home)),
          Layer.build(PgStorage.layer(other)),
          open([home, { ...other, name: home.name }]),
          open([{ ...other, name: home.name }]),
          PgCells.add(cells, "fifth", 1),
          Layer.build(PgCells.layer(cells, { work_cells: [first, "fifth"] })),
          open([{ ...home, schema: "Wrong Schema" }])
        ]
        const reasons = yield* Effect.forEach(refusals, (program) =>
          Effect.map(
            Effect.flip(Effect.scoped<unknown, PgStorage.DatabaseRefused, Scope.Scope>(program)),
            ({ reason }) => reason
          )
        )
        assert.deepStrictEqual(reasons, ["cell", "cell", "cell", "cell", "cell", "cell", "address"])
      })
    )
  )
})
