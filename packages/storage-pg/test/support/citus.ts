import { randomUUID } from "node:crypto"
import { PgStorage } from "@quotewire/storage-pg"
import { Context, Effect, Layer, Redacted, type Scope } from "effect"
import { statements } from "../../../../test/support/TestDatabase.ts"

/** The coordinator of a Citus cluster, with the database to use and a user that may create schemas in it. */
export const citus_url = process.env.QUOTEWIRE_TEST_CITUS_URL

/** Why tests on Citus are skipped; they are named after it. */
export const skipped = "needs a Citus cluster: set QUOTEWIRE_TEST_CITUS_URL to the database on its coordinator"

/** A schema of a test's own in the database of the cluster. */
export interface CitusSchema {
  readonly url: string
  readonly options: { readonly url: Redacted.Redacted<string>; readonly schema: string }
}

/** A schema for as long as the scope lives, migrated and so distributed. */
export const scopedSchema: Effect.Effect<CitusSchema, PgStorage.DatabaseRefused, Scope.Scope> = Effect.gen(
  function* () {
    const url = citus_url ?? ""
    const schema = `quotewire_${randomUUID().replaceAll("-", "")}`
    const options = { url: Redacted.make(url), schema }
    yield* Effect.addFinalizer(() => Effect.promise(() => statements(url, `drop schema if exists ${schema} cascade`)))
    yield* PgStorage.migrate(options)
    return { url, options }
  }
)

/** The schema of a group of tests. */
export class Citus extends Context.Service<Citus, CitusSchema>()("test/Citus") {}

/** A storage in a schema of its own, for a group of tests. */
export const storage = Layer.provideMerge(
  Layer.unwrap(Effect.map(Citus, ({ options }) => PgStorage.layer(options))),
  Layer.effect(Citus, scopedSchema)
)

const tables = ["workspace", "record", "older_version", "event", "job", "lane", "tally"]

/** Runs a test on what another has used: emptied first. */
export const onEmpty = <A, E, R>(test: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | Citus> =>
  Effect.andThen(
    Effect.flatMap(Citus, ({ options, url }) =>
      Effect.promise(() => statements(url, ...tables.map((table) => `delete from ${options.schema}.${table}`)))
    ),
    test
  )
