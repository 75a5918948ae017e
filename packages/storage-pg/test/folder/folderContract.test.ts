import { describe, layer } from "@effect/vitest"
import { Storage } from "@quotewire/core"
import { StorageContract } from "@quotewire/core/testing"
import { Clock, Context, Effect, Layer } from "effect"
import type { PlacedDatabase } from "../../src/database/Database.ts"
import * as FolderStorage from "../../src/folder/FolderStorage.ts"
import { namesItsConstraint } from "../support/violation.ts"
import { temporaryFolder } from "./temporaryFolder.ts"

class Database extends Context.Service<Database, PlacedDatabase>()("test/Database") {}

// A storage backend on PostgreSQL follows the real clock, even under a test clock.
const storage = Layer.effectContext(
  Effect.gen(function* () {
    const { database, storage } = yield* FolderStorage.open(yield* temporaryFolder)
    return Context.make(Storage.Storage, storage).pipe(Context.add(Database, database))
  })
).pipe(Layer.provide(Layer.succeed(Clock.Clock, Clock.Clock.defaultValue())))

const tables = `select format('%I.%I', schemaname, tablename) as name from pg_tables
  where schemaname = 'quotewire' and tablename <> 'migration'`

const emptied = Effect.gen(function* () {
  const database = yield* Database
  for (const { name } of yield* database.read(tables, [])) yield* database.write(`delete from ${name}`, [])
})

layer(storage, { timeout: 120_000 })((it) => {
  describe("a PostgreSQL storage in a folder", () => {
    for (const { name, needs, run } of StorageContract.cases) {
      it.effect.skipIf(needs === "cells")(name, () => Effect.andThen(emptied, run))
    }
  })

  // Only one process can open a folder, so two hosts in it share the storage.
  describe("a PostgreSQL storage in a folder, used by two hosts", () => {
    for (const { name, run } of StorageContract.twoHostsCases) {
      it.effect(name, () =>
        Effect.andThen(
          emptied,
          Effect.flatMap(Storage.Storage, (shared) => run(shared, shared))
        )
      )
    }
  })

  describe("a database in a folder", () => {
    it.effect("reports a violated invariant as a defect that names the table and the constraint", () =>
      Effect.flatMap(Database, ({ write }) => namesItsConstraint((sql) => write(sql, [])))
    )
  })
})
