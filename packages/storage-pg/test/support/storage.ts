import { PgStorage } from "@quotewire/storage-pg"
import { Context, Effect, Layer } from "effect"
import { scopedDatabase, type TestDatabase, truncate } from "../../../../test/support/TestDatabase.ts"
import { open, type Port } from "./hosts.ts"

/** The database of a group of tests. */
export class Database extends Context.Service<Database, TestDatabase>()("test/Database") {}

const database = Layer.effect(Database, scopedDatabase)

/** A storage backend on its own database, for a group of tests. */
export const storage = Layer.provideMerge(
  Layer.unwrap(Effect.map(Database, ({ options }) => PgStorage.layer(options))),
  database
)

/** Two hosts on one database, for a group of tests. */
export class TwoHosts extends Context.Service<TwoHosts, readonly [one: Port, other: Port]>()("test/TwoHosts") {
  static readonly layer = Layer.effect(
    TwoHosts,
    Effect.gen(function* () {
      const { options } = yield* Database
      return [yield* open(options), yield* open(options)] as const
    })
  ).pipe(Layer.provideMerge(database))
}

/** Empties the storage that earlier tests used, and runs a test on it. */
export const onEmpty = <A, E, R>(test: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | Database> =>
  Effect.andThen(
    Effect.flatMap(Database, ({ url }) => Effect.promise(() => truncate(url))),
    test
  )
