import { assert, layer } from "@effect/vitest"
import { PgStorage } from "@quotewire/storage-pg"
import { Effect, Layer } from "effect"
import { statements } from "../../../test/support/TestDatabase.ts"
import { statements as statementsOf } from "../src/sql/files.ts"
import { Database, storage } from "./support/storage.ts"

const note = (state: string) =>
  `insert into quotewire.place (state, epoch) values ('${state}', 1) on conflict (only_one) do update set state = excluded.state`

layer(storage)("a storage backend without cells", (it) => {
  it.effect("opens a moved schema only in the database that serves the schema", () =>
    Effect.gen(function* () {
      const { options, url } = yield* Database
      yield* Effect.promise(() => statements(url, ...statementsOf("place_table.sql")))
      const reasonOf = (program: Effect.Effect<unknown, PgStorage.DatabaseRefused>) =>
        Effect.match(program, { onFailure: ({ reason }) => reason, onSuccess: () => null })
      const found = yield* Effect.forEach(["left", "held", "arriving", "leaving", "live"], (state) =>
        Effect.gen(function* () {
          yield* Effect.promise(() => statements(url, note(state)))
          const opened = yield* reasonOf(Effect.scoped(Layer.build(PgStorage.layer(options))))
          return [state, opened, yield* reasonOf(PgStorage.migrate(options))]
        })
      )
      assert.deepStrictEqual(found, [
        ["left", "cell", "move"],
        ["held", "cell", "move"],
        ["arriving", "cell", "move"],
        ["leaving", null, "move"],
        ["live", null, null]
      ])
    })
  )
})
