import { describe, it } from "@effect/vitest"
import { World } from "@quotewire/core/testing"
import { NodeCrypto } from "@quotewire/http"
import { PgStorage } from "@quotewire/storage-pg"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { scopedDatabase, statements, tables } from "../../../test/support/TestDatabase.ts"
import { options, story } from "../../core/test/quoting/carrierTextStory.ts"
import { beginning } from "../../core/test/support/world.ts"

describe("text from carriers in PostgreSQL", () => {
  it.effect("is sealed in every table and field, and erased completely", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(beginning)
      const database = yield* scopedDatabase
      const rows = Effect.promise(async () => {
        const found = await Promise.all(
          tables.map((table) => statements(database.url, `select to_json(t)::text as row from quotewire.${table} t`))
        )
        return JSON.stringify(found)
      })
      const { carriers, surroundings } = options
      const world = World.World.layer(PgStorage.layer(database.options), {
        carriers,
        cryptography: NodeCrypto.layer
      })
      yield* Effect.provide(story(rows), Layer.provide(world, surroundings))
    })
  )
})
