import { assert, describe, it } from "@effect/vitest"
import { Change } from "@quotewire/core"
import { Effect, Option } from "effect"
import { emptyDatabase } from "../../../test/support/TestDatabase.ts"
import { PgStorage } from "../src/index.ts"
import * as Lookups from "../src/reads/Lookups.ts"
import { open, workspace } from "./support/hosts.ts"

const empty = Effect.acquireRelease(Effect.promise(emptyDatabase), ({ drop }) => Effect.promise(drop))

const recordOf = (id: string, version: number): Change.StoredRecord =>
  Change.record({
    kind: "offer",
    id,
    version,
    body: `"${id} ${version}"`,
    created_at: 1,
    updated_at: version
  })

describe("concurrent reads of the same page", () => {
  it.effect("each see everything stored before they began, and only records of their page", () =>
    Effect.gen(function* () {
      const database = yield* empty
      yield* PgStorage.migrate(database.options)
      const storage = yield* open(database.options)
      const idsOf = (parent: string, place: number) =>
        storage
          .page({ workspace_id: workspace(place), kind: "offer", parent, order: "oldest", after: null, limit: 100 })
          .pipe(Effect.map(({ records }) => records.map(({ id }) => id)))
      const write = (id: string, parent: string, place: number) =>
        storage.commit(Change.make(workspace(place), { writes: [{ ...recordOf(id, 1), parent }] }))
      const add = (index: number) => {
        const id = `offer ${`${index}`.padStart(3, "0")}`
        const parent = `parent ${index % 3}`
        return Effect.gen(function* () {
          yield* write(id, parent, 1)
          assert.include(yield* idsOf(parent, 1), id)
        })
      }
      yield* Effect.forEach(
        Array.from({ length: 60 }, (_, index) => index),
        add,
        { concurrency: 30, discard: true }
      )
      const asked = Array.from({ length: 60 }, (_, index) => [`parent ${index % 3}`, 1 + (index % 2)] as const)
      const found = yield* Effect.forEach(asked, ([parent, place]) => idsOf(parent, place), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(
        found.map(({ length }) => length),
        asked.map(([, place]) => (place === 1 ? 20 : 0))
      )
    })
  )
})

describe("concurrent lookups of records", () => {
  it.effect("each get their own record or nothing, and see the latest write", () =>
    Effect.gen(function* () {
      const database = yield* empty
      yield* PgStorage.migrate(database.options)
      const storage = yield* open(database.options)
      const ids = Array.from({ length: 60 }, (_, index) => `offer ${index}`)
      const write = (version: number) => (id: string) =>
        storage.commit(Change.make(workspace(1), { writes: [recordOf(id, version)] }))
      const bodyOf = (id: string, place = 1) =>
        Effect.map(storage.get({ workspace_id: workspace(place), kind: "offer", id }), (stored) =>
          Option.match(stored, { onNone: () => null, onSome: ({ body }) => body })
        )
      yield* Effect.forEach(ids, write(1), { concurrency: "unbounded", discard: true })
      const asked = [...ids, "nowhere", ...ids]
      assert.deepStrictEqual(
        yield* Effect.forEach(asked, (id) => bodyOf(id), { concurrency: "unbounded" }),
        asked.map((id) => (id === "nowhere" ? null : `"${id} 1"`))
      )
      assert.deepStrictEqual(
        yield* Effect.forEach(ids, (id) => bodyOf(id, 2), { concurrency: "unbounded" }),
        ids.map(() => null)
      )
      const rewrite = (id: string) => Effect.andThen(write(2)(id), bodyOf(id))
      assert.deepStrictEqual(
        yield* Effect.forEach(ids, rewrite, { concurrency: "unbounded" }),
        ids.map((id) => `"${id} 2"`)
      )
    })
  )
})

describe("concurrent reads of records and pages", () => {
  it.effect("share one statement, however large the pages may be", () =>
    Effect.gen(function* () {
      let statements = 0
      const read = () =>
        Effect.sync(() => {
          statements++
          return []
        })
      const lookUp = yield* Lookups.make({ schema: "quotewire", call_ms: 10_000, read, write: read })
      const wanted = Array.from({ length: 30 }, (_, index) => [
        { workspace_id: workspace(1), kind: "quote", parent: `request ${index}`, after: "", most: 1_001 } as const,
        { workspace_id: workspace(1), kind: "quote_request", id: `request ${index}` } as const
      ]).flat()
      yield* Effect.forEach(wanted, lookUp, { concurrency: "unbounded", discard: true })
      assert.strictEqual(statements, 1)
    })
  )
})
