import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { type All, claimAt, claimed, losable, placedIn, work } from "./support/cellCalls.ts"
import { addAll, fourInMemory, join, memory } from "./support/cells.ts"
import { type Port, workspace } from "./support/hosts.ts"

/**
 * Four cells in memory, one of which can become unavailable; the storage made of them; and a workspace in that cell
 * and in another.
 */
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

describe("a lost cell", () => {
  it.effect("fails only the calls for its own workspaces", () =>
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
      yield* TestClock.adjust(1_000)
      yield* storage.commit(work(there, 10))
    })
  )

  it.effect("gets no new workspaces once its loss is detected", () =>
    Effect.gen(function* () {
      const { set, storage } = yield* withLosable
      set(true)
      yield* storage.claim(claimAt(10_000_000))
      for (let place = 500; place < 550; place++) yield* storage.commit(work(place, 10))
    })
  )

  it.effect("does not delay claims on other cells, and its jobs are claimed once it responds again", () =>
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

  it.effect("does not delay claims on other cells, and loses no job if it answers late", () =>
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

  it.effect("gives each job to one claim, even if every claim on the cell is slow", () =>
    Effect.gen(function* () {
      const [first, second, ...others] = yield* fourInMemory
      if (second === undefined) return assert.fail()
      const slow: Port = {
        ...second.storage,
        claim: (query) => Effect.delay(second.storage.claim(query), 1_500)
      }
      const storage = yield* join([first, { name: second.name, storage: slow }, ...others])
      const there = yield* placedIn(storage, second)
      const jobs = 6
      for (let dueAt = 1; dueAt <= jobs; dueAt++) yield* storage.commit(work(there, dueAt))
      const given: Array<string> = []
      for (let now = 1_000; now < 25_000; now += 1_000) {
        const claiming = yield* Effect.forkChild(storage.claim({ now, lease_ms: 30_000, limit: 4 }))
        yield* TestClock.adjust(1_000)
        for (const { number, workspace_id } of (yield* Fiber.join(claiming)).jobs)
          given.push(`${workspace_id} ${number}`)
      }
      assert.lengthOf(given, jobs)
      assert.strictEqual(new Set(given).size, jobs)
    })
  )

  it.effect("makes claims fail only if no cell responds", () =>
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
