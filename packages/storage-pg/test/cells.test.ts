import { assert, describe, it } from "@effect/vitest"
import { Cell, Change, type Job, Storage } from "@quotewire/core"
import { type Array, Effect, Exit, Fiber, Schema, type Scope } from "effect"
import { TestClock } from "effect/testing"
import * as CellList from "../src/cells/CellList.ts"
import { markOf, WrongCell } from "../src/cells/CellState.ts"
import * as Cells from "../src/cells/Cells.ts"
import { chooseCell } from "../src/cells/choice.ts"
import { addAll, fourInMemory, join, memory, names } from "./support/cells.ts"
import { type Port, workspace } from "./support/hosts.ts"

type All = Array.NonEmptyReadonlyArray<CellList.NamedStorage>

const job = (due_at: number): Job.NewJob => ({ kind: "collect", due_at, ordered: false, payload: "{}" })
const work = (place: number, due_at: number) => Change.make(workspace(place), { jobs: [job(due_at)] })

/** The workspaces with data in each cell, without those of the service. */
const contents = (cells: All) =>
  Effect.forEach(cells, ({ storage }) =>
    Effect.map(storage.workspaces(null, 1_000), (ids) => ids.filter((id) => id !== Cell.cellsWorkspace))
  )

/** The number of a workspace of which a cell has taken the data. */
const placedIn = Effect.fnUntraced(function* (storage: Port, { storage: cell }: CellList.NamedStorage) {
  for (let place = 1; place < 200; place++) {
    yield* storage.commit(work(place, 1_000_000))
    if ((yield* cell.workspaces(null, 1_000)).includes(workspace(place))) return place
  }
  return yield* Effect.die(new Error("no workspace was placed in the cell"))
})

const lost = Effect.fail(new Storage.StorageUnavailable({ retry_after_seconds: 1 }))

/** A storage that can be lost, and then fails every call at once. */
const losable = (storage: Port) => {
  let isLost = false
  const unlessLost =
    <A extends ReadonlyArray<unknown>, B, E>(call: (...args: A) => Effect.Effect<B, E>) =>
    (...args: A): Effect.Effect<B, E | Storage.StorageUnavailable> =>
      Effect.suspend((): Effect.Effect<B, E | Storage.StorageUnavailable> => (isLost ? lost : call(...args)))
  const port: Port = {
    commit: unlessLost(storage.commit),
    get: unlessLost(storage.get),
    page: unlessLost(storage.page),
    feed: unlessLost(storage.feed),
    claim: unlessLost(storage.claim),
    release: unlessLost(storage.release),
    erase: unlessLost(storage.erase),
    addCounts: unlessLost(storage.addCounts),
    watch: storage.watch,
    workspaces: unlessLost(storage.workspaces),
    ready: unlessLost(() => storage.ready)()
  }
  return {
    port,
    set: (lost: boolean) => {
      isLost = lost
    }
  }
}

const claimAt = (now: number, limit = 100): Storage.ClaimQuery => ({ now, lease_ms: 1_000, limit })
const claimed = (storage: Port, now: number, limit?: number) =>
  Effect.map(storage.claim(claimAt(now, limit)), ({ jobs }) => jobs.map(({ workspace_id }) => workspace_id))

/** Four cells in memory of which one can be lost, the storage that they make, and a workspace in that one and in another. */
const withLosable = Effect.gen(function* () {
  const [first, second, ...others] = yield* fourInMemory
  if (second === undefined) return yield* Effect.die(new Error("there are four"))
  const { port, set } = losable(second.storage)
  const cells: All = [first, { name: second.name, storage: port }, ...others]
  const storage = yield* join(cells)
  const there = yield* placedIn(storage, second)
  const elsewhere = yield* placedIn(storage, first)
  return { storage, set, there, elsewhere }
})

describe("the choice of a cell for a new workspace", () => {
  const placesIn = (cells: ReadonlyArray<Cell.Cell>) => {
    const counts = new Map<string | null, number>()
    for (let place = 0; place < 4_000; place++) {
      const name = chooseCell(cells, workspace(place))
      counts.set(name, (counts.get(name) ?? 0) + 1)
    }
    return counts
  }

  it("gives each cell its part, by its room", () => {
    const counts = placesIn([
      { name: "small", room: 1 },
      { name: "large", room: 3 },
      { name: "full", room: 0 }
    ])
    assert.approximately(counts.get("small") ?? 0, 1_000, 150)
    assert.approximately(counts.get("large") ?? 0, 3_000, 150)
    assert.isUndefined(counts.get("full"))
  })

  it("is null if no cell has room", () => {
    assert.isNull(chooseCell([{ name: "full", room: 0 }], workspace(1)))
    assert.isNull(chooseCell([], workspace(1)))
  })
})

describe("a storage of cells", () => {
  it.effect("keeps each workspace whole in one cell, and spreads workspaces over all", () =>
    Effect.gen(function* () {
      const cells = yield* fourInMemory
      const storage = yield* join(cells)
      for (let place = 1; place <= 60; place++) {
        yield* storage.commit(work(place, 10))
        yield* storage.commit(work(place, 20))
      }
      const all = yield* contents(cells)
      assert.sameMembers(
        all.flat(),
        Array.from({ length: 60 }, (_, index) => workspace(index + 1))
      )
      assert.isTrue(all.every((ids) => ids.length > 5))
      assert.lengthOf(yield* storage.workspaces(null, 100), 60)
    })
  )

  it.effect("places a workspace once, also if several hosts write in it first", () =>
    Effect.gen(function* () {
      const cells = yield* fourInMemory
      const hosts = yield* Effect.forEach([1, 2, 3], () => join(cells))
      const places = Array.from({ length: 30 }, (_, index) => index + 1)
      yield* Effect.forEach(
        places.flatMap((place) => hosts.map((host) => ({ host, place }))),
        ({ host, place }) => host.commit(work(place, 10)),
        { concurrency: "unbounded" }
      )
      assert.lengthOf((yield* contents(cells)).flat(), 30)
    })
  )

  it.effect("leaves organizations, keys and counts in the first cell", () =>
    Effect.gen(function* () {
      const cells = yield* fourInMemory
      const storage = yield* join(cells)
      yield* storage.commit(Change.make(Storage.directoryWorkspace, { jobs: [job(10)] }))
      const count = { name: "calls", window_start: 0, window_ms: 1_000, added: 2 }
      const counts = [1, 2].map((place) => ({ ...count, workspace_id: workspace(place) }))
      assert.deepStrictEqual(yield* storage.addCounts(10, counts), [2, 2])
      assert.deepStrictEqual(yield* cells[0].storage.addCounts(10, counts), [4, 4])
      assert.deepStrictEqual(yield* contents(cells), [[Storage.directoryWorkspace], [], [], []])
    })
  )

  it.effect("leaves workspaces where they are that were there before there were cells", () =>
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

  it.effect("takes the new workspaces of a cell without room elsewhere, and keeps its old ones", () =>
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

  it.effect("refuses to finish a job of another workspace", () =>
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

describe("claims of several cells", () => {
  it.effect("take turns, so that a busy cell holds up no other", () =>
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

  it.effect("pass over a cell that has nothing due, until it has", () =>
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

describe("a cell that is lost", () => {
  it.effect("fails the calls for its workspaces, and no others", () =>
    Effect.gen(function* () {
      const { elsewhere, set, storage, there } = yield* withLosable
      set(true)
      const error = yield* Effect.flip(storage.commit(work(there, 10)))
      assert.strictEqual(error._tag, "StorageUnavailable")
      yield* Effect.flip(storage.feed({ workspace_id: workspace(there), after: 0, limit: 1 }))
      yield* storage.commit(work(elsewhere, 10))
      yield* storage.ready
      yield* Effect.flip(storage.workspaces(null, 10))
      set(false)
      yield* storage.commit(work(there, 10))
    })
  )

  it.effect("takes no new workspaces once that is noticed", () =>
    Effect.gen(function* () {
      const { set, storage } = yield* withLosable
      set(true)
      yield* storage.claim(claimAt(10_000_000))
      for (let place = 500; place < 550; place++) yield* storage.commit(work(place, 10))
    })
  )

  it.effect("holds up no claim of others, and is asked again when it answers", () =>
    Effect.gen(function* () {
      const { elsewhere, set, storage, there } = yield* withLosable
      yield* storage.commit(work(there, 10))
      set(true)
      yield* storage.commit(work(elsewhere, 10))
      assert.deepStrictEqual(yield* claimed(storage, 10), [workspace(elsewhere)])
      assert.deepStrictEqual(yield* claimed(storage, 20), [])
      set(false)
      yield* TestClock.adjust(3_000)
      assert.deepStrictEqual(yield* claimed(storage, 30), [workspace(there)])
    })
  )

  it.effect("holds up no claim of others if it does not answer at all, and loses no job that it gives too late", () =>
    Effect.gen(function* () {
      const [first, second, ...others] = yield* fourInMemory
      if (second === undefined) return assert.fail()
      const plain = yield* join([first, second, ...others])
      const there = yield* placedIn(plain, second)
      const elsewhere = yield* placedIn(plain, first)
      const slow: Port = {
        ...second.storage,
        claim: (query) => Effect.delay(second.storage.claim(query), 5_000)
      }
      const storage = yield* join([first, { name: second.name, storage: slow }, ...others])
      yield* storage.commit(work(there, 10))
      yield* storage.commit(work(elsewhere, 10))
      const claiming = yield* Effect.forkChild(claimed(storage, 10))
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual(yield* Fiber.join(claiming), [workspace(elsewhere)])
      yield* TestClock.adjust(10_000)
      assert.deepStrictEqual(yield* claimed(plain, 20), [workspace(there)])
    })
  )

  it.effect("fails claims only if no cell answers", () =>
    Effect.gen(function* () {
      const { port, set } = losable(yield* memory)
      const cells: All = [{ name: "only", storage: port }]
      yield* addAll(cells)
      const storage = yield* join(cells)
      set(true)
      assert.isTrue(Exit.isFailure(yield* Effect.exit(storage.claim(claimAt(10)))))
    })
  )
})

describe("opening cells", () => {
  const sources = Effect.gen(function* () {
    const [first, second] = yield* fourInMemory
    if (second === undefined) return yield* Effect.die(new Error("there are four"))
    return { first, second }
  })
  const open = (storage: Port): Effect.Effect<Port, never, Scope.Scope> => Effect.succeed(storage)

  it.effect("goes on without a cell that cannot be opened, and takes it when it can", () =>
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

  it.effect("notices addresses that were exchanged", () =>
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

  it.effect("leaves a cell unused that was not added", () =>
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
  it.effect("can be repeated, and changes the room", () =>
    Effect.gen(function* () {
      const home = { name: "one", storage: yield* memory }
      const other = { name: "two", storage: yield* memory }
      for (const room of [1, 1, 3]) yield* CellList.add(home, other, room)
      assert.deepStrictEqual(yield* CellList.read(home.storage), [
        { name: "one", room: 1 },
        { name: "two", room: 3 }
      ])
      assert.deepStrictEqual([yield* markOf(home.storage), yield* markOf(other.storage)], ["one", "two"])
    })
  )

  it.effect("refuses a database with data, and one that is another cell", () =>
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

describe("the name of a cell", () => {
  it("is lower-case letters, digits and hyphens", () => {
    const isName = Schema.is(Cell.CellName)
    assert.deepStrictEqual(["a", "eu-1", "A", "", "-a", "a b", "a".repeat(41)].map(isName), [
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
