import { assert, describe, it } from "@effect/vitest"
import { type Cell, Change, type Ids, Storage } from "@quotewire/core"
import { Array, Effect } from "effect"
import * as CellList from "../src/cells/CellList.ts"
import { chooseCell } from "../src/cells/choice.ts"
import { type All, claimAt, claimed, contents, job, losable, placedIn, work } from "./support/cellCalls.ts"
import { fourInMemory, join, memory } from "./support/cells.ts"
import { type Port, workspace } from "./support/hosts.ts"

describe("choosing a cell for a new workspace", () => {
  const placesIn = (cells: ReadonlyArray<Cell.Cell>) => {
    const counts = new Map<string | null, number>()
    for (let place = 0; place < 4_000; place++) {
      const name = chooseCell(cells, workspace(place))
      counts.set(name, (counts.get(name) ?? 0) + 1)
    }
    return counts
  }

  it("gives each cell a share of the workspaces in proportion to the cell's room", () => {
    const counts = placesIn([
      { name: "small", room: 1 },
      { name: "large", room: 3 },
      { name: "full", room: 0 }
    ])
    assert.approximately(counts.get("small") ?? 0, 1_000, 150)
    assert.approximately(counts.get("large") ?? 0, 3_000, 150)
    assert.isUndefined(counts.get("full"))
  })

  it("returns null if no cell has room", () => {
    assert.isNull(chooseCell([{ name: "full", room: 0 }], workspace(1)))
    assert.isNull(chooseCell([], workspace(1)))
  })
})

describe("a storage backend with cells", () => {
  it.effect("keeps each workspace entirely in one cell, and spreads workspaces over all cells", () =>
    Effect.gen(function* () {
      const cells = yield* fourInMemory
      const storage = yield* join(cells)
      for (let place = 1; place <= 60; place++) {
        yield* storage.commit(work(place, 10))
        yield* storage.commit(work(place, 20))
      }
      const all = yield* contents(cells)
      assert.sameMembers(all.flat(), Array.range(1, 60).map(workspace))
      assert.isTrue(all.every((ids) => ids.length > 5))
      assert.lengthOf(yield* storage.workspaces(null, 100), 60)
    })
  )

  it.effect("places a workspace only once, even if several hosts start writing to it concurrently", () =>
    Effect.gen(function* () {
      const cells = yield* fourInMemory
      const hosts = yield* Effect.forEach([1, 2, 3], () => join(cells))
      const places = Array.range(1, 30)
      yield* Effect.forEach(
        places.flatMap((place) => hosts.map((host) => ({ host, place }))),
        ({ host, place }) => host.commit(work(place, 10)),
        { concurrency: "unbounded" }
      )
      assert.lengthOf((yield* contents(cells)).flat(), 30)
    })
  )

  it.effect("keeps organizations and keys in the first cell", () =>
    Effect.gen(function* () {
      const cells = yield* fourInMemory
      const storage = yield* join(cells)
      yield* storage.commit(Change.make(Storage.directoryWorkspace, { jobs: [job(10)] }))
      assert.deepStrictEqual(yield* contents(cells), [[Storage.directoryWorkspace], [], [], []])
    })
  )

  const count = { name: "calls", window_start: 0, window_ms: 1_000, added: 2 }
  const countOf = (workspace_id: Ids.WorkspaceId) => ({ ...count, workspace_id })

  it.effect("adds up a workspace's counts in the workspace's cell, and all other counts in the first cell", () =>
    Effect.gen(function* () {
      const cells = yield* fourInMemory
      const storage = yield* join(cells)
      const places = yield* Effect.forEach(cells, (cell) => Effect.map(placedIn(storage, cell), workspace))
      const counts = [...places, Storage.directoryWorkspace, workspace(999)].map(countOf)
      assert.deepStrictEqual(yield* storage.addCounts(10, counts), [2, 2, 2, 2, 2, 2])
      const found = yield* Effect.forEach(cells, ({ storage }) =>
        storage.addCounts(
          10,
          counts.map((one) => ({ ...one, added: 0 }))
        )
      )
      assert.deepStrictEqual(found, [
        [2, 0, 0, 0, 2, 2],
        [0, 2, 0, 0, 0, 0],
        [0, 0, 2, 0, 0, 0],
        [0, 0, 0, 2, 0, 0]
      ])
    })
  )

  it.effect("keeps the counts of an unavailable cell in the first cell", () =>
    Effect.gen(function* () {
      const [first, second, ...others] = yield* fourInMemory
      if (second === undefined) return assert.fail()
      const { port, set } = losable(second.storage)
      const storage = yield* join([first, { ...second, storage: port }, ...others])
      const counts = [countOf(workspace(yield* placedIn(storage, second)))]
      assert.deepStrictEqual(yield* storage.addCounts(10, counts), [2])
      set(true)
      assert.deepStrictEqual(yield* storage.addCounts(10, counts), [2])
      assert.deepStrictEqual(yield* first.storage.addCounts(10, counts), [4])
    })
  )

  it.effect("keeps workspaces that are older than the cells in their original database", () =>
    Effect.gen(function* () {
      const home = yield* memory
      const record = Change.record({
        kind: "workspace",
        id: workspace(1),
        version: 1,
        body: "{}",
        created_at: 1,
        updated_at: 1
      })
      yield* home.commit(Change.make(workspace(1), { writes: [record] }))
      const cells: All = [
        { name: "old", storage: home },
        { name: "new", storage: yield* memory }
      ]
      yield* CellList.add(cells[0], cells[0], 0)
      for (const cell of cells) yield* CellList.add(cells[0], cell, cell.name === "new" ? 1 : 0)
      const storage = yield* join(cells)
      for (const place of [1, 2, 3]) yield* storage.commit(work(place, 10))
      assert.deepStrictEqual(yield* contents(cells), [[workspace(1)], [workspace(2), workspace(3)]])
    })
  )

  it.effect("places no new workspaces in a full cell, but keeps the cell's existing workspaces", () =>
    Effect.gen(function* () {
      const cells = yield* fourInMemory
      const [first, second] = cells
      if (second === undefined) return assert.fail()
      const storage = yield* join(cells)
      const old = yield* placedIn(storage, second)
      yield* CellList.add(first, second, 0)
      const before = (yield* second.storage.workspaces(null, 1_000)).length
      for (let place = 1_000; place < 1_050; place++) yield* storage.commit(work(place, 10))
      assert.lengthOf(yield* second.storage.workspaces(null, 1_000), before)
      yield* storage.commit(work(old, 20))
      assert.include(yield* second.storage.workspaces(null, 1_000), workspace(old))
    })
  )

  it.effect("refuses to finish a job on behalf of another workspace", () =>
    Effect.gen(function* () {
      const storage = yield* Effect.flatMap(fourInMemory, join)
      yield* storage.commit(work(1, 10))
      const [lease] = (yield* storage.claim(claimAt(10))).jobs
      if (lease === undefined) return assert.fail("expected a job")
      const error = yield* Effect.flip(storage.commit(Change.make(workspace(2), { finishes: [lease] })))
      assert.strictEqual(error._tag, "LeaseLost")
    })
  )
})

describe("a host with a different cell list", () => {
  it.effect("finds a workspace that another host has placed in the meantime", () =>
    Effect.gen(function* () {
      const cells = yield* fourInMemory
      const [one, other] = [yield* join(cells), yield* join(cells)]
      for (let place = 1; place <= 20; place++) {
        const feed = { workspace_id: workspace(place), after: 0, limit: 1 }
        yield* one.feed(feed)
        yield* other.commit(
          Change.make(workspace(place), { events: [{ id: "evt_1", occurred_at: 1, about: [], body: "{}" }] })
        )
        assert.lengthOf((yield* one.feed(feed)).events, 1)
        yield* one.commit(work(place, 10))
      }
      assert.lengthOf((yield* contents(cells)).flat(), 20)
    })
  )

  it.effect("refuses calls for a cell that is not in the host's settings", () =>
    Effect.gen(function* () {
      const [first, second, ...others] = yield* fourInMemory
      if (second === undefined) return assert.fail()
      const older = yield* join([first, ...others])
      const newer = yield* join([first, second, ...others])
      const there = yield* placedIn(newer, second)
      assert.strictEqual((yield* Effect.flip(older.commit(work(there, 20))))._tag, "StorageUnavailable")
      for (let place = 300; place < 330; place++) yield* older.commit(work(place, 10))
      yield* newer.commit(work(there, 20))
    })
  )
})

describe("a host that runs jobs for only some cells", () => {
  it.effect("claims jobs only from those cells, but serves calls for all cells", () =>
    Effect.gen(function* () {
      const cells = yield* fourInMemory
      const [first, second] = cells
      if (second === undefined) return assert.fail()
      const storage = yield* join(cells, [second.name])
      const there = yield* placedIn(storage, second)
      const elsewhere = yield* placedIn(storage, first)
      for (const place of [there, elsewhere]) yield* storage.commit(work(place, 10))
      assert.deepStrictEqual(yield* claimed(storage, 10), [workspace(there)])
      assert.deepStrictEqual(yield* claimed(yield* join(cells), 10), [workspace(elsewhere)])
    })
  )
})

describe("claims on several cells", () => {
  it.effect("alternate between cells, so that a busy cell does not delay the other cells", () =>
    Effect.gen(function* () {
      const cells = yield* fourInMemory
      const storage = yield* join(cells)
      const places = yield* Effect.forEach(cells, (cell) => placedIn(storage, cell))
      for (let round = 0; round < 20; round++) {
        for (const place of places) yield* storage.commit(work(place, round))
      }
      const seen = new Set<string>()
      for (let round = 0; round < 4; round++) for (const id of yield* claimed(storage, 100, 2)) seen.add(id)
      assert.lengthOf([...seen], 4)
    })
  )

  it.effect("skip a cell until it has due work", () =>
    Effect.gen(function* () {
      const [first, second, ...others] = yield* fourInMemory
      if (second === undefined) return assert.fail()
      let asked = 0
      const counted: Port = {
        ...second.storage,
        claim: (query) => {
          asked += 1
          return second.storage.claim(query)
        }
      }
      const storage = yield* join([first, { name: second.name, storage: counted }, ...others])
      const there = yield* placedIn(storage, second)
      yield* claimed(storage, 10)
      asked = 0
      for (let now = 11; now < 1_000; now++) yield* claimed(storage, now)
      assert.strictEqual(asked, 0, "its next job is due much later")
      yield* storage.commit(work(there, 1_000))
      assert.deepStrictEqual(yield* claimed(storage, 1_000), [workspace(there)])
      assert.strictEqual(asked, 1)
      asked = 0
      for (let now = 10_000; now < 20_000; now += 1_000) yield* claimed(storage, now, 0)
      assert.isAbove(asked, 1, "hints can be lost, so it is asked from time to time")
    })
  )
})
