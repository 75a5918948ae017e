import { PgStorage } from "@quotewire/storage-pg"
import { Context, Effect, Layer } from "effect"
import { scopedDatabase, type TestDatabase, truncate } from "../../../../test/support/TestDatabase.ts"

/** The database of a group of tests. */
export class Database extends Context.Service<Database, TestDatabase>()("test/Database") {}

const database = Layer.effect(Database, scopedDatabase)

/** A storage backend on its own database, for a group of tests. */
export const storage = Layer.provideMerge(
  Layer.unwrap(Effect.map(Database, ({ options }) => PgStorage.layer(options))),
  database
)

/** Empties the storage that earlier tests used, and runs a test on it. */
export const onEmpty = <A, E, R>(test: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | Database> =>
  Effect.andThen(
    Effect.flatMap(Database, ({ url }) => Effect.promise(() => truncate(url))),
    test
  )
