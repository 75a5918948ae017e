import { assert, describe, it } from "@effect/vitest"
import { Change } from "@quotewire/core"
import { Effect, Option } from "effect"
import { emptyDatabase } from "../../../test/support/TestDatabase.ts"
import { PgStorage } from "../src/index.ts"
import { open, workspace } from "./support/hosts.ts"

const empty = Effect.acquireRelease(Effect.promise(emptyDatabase), ({ drop }) => Effect.promise(drop))

const recordOf = (id: string, version: number): Change.StoredRecord => ({
  ...Change.bare,
  kind: "offer",
  id,
  version,
  body: `"${id} ${version}"`,
  created_at: 1,
  updated_at: version
})

describe("many that look records up at once", () => {
  it.effect("each get theirs, or nothing where there is none, and what they have just written", () =>
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
