import { randomUUID } from "node:crypto"
import { Cell, type Storage } from "@quotewire/core"
import type { PgStorage } from "@quotewire/storage-pg"
import { PgCells } from "@quotewire/storage-pg/cells"
import { Context, Effect, Layer, Redacted, type Scope } from "effect"
import { statements, tables } from "../../../../test/support/TestDatabase.ts"

/** The database to use on the coordinator of a Citus cluster; undefined if there is none. */
export const citusUrl = process.env.QUOTEWIRE_TEST_CITUS_URL

/** Why tests on Citus are skipped, which is part of their names. */
export const needed = "needs QUOTEWIRE_TEST_CITUS_URL, the address of a database on the coordinator of a Citus cluster"

/** A schema for one test in the cluster's database. */
export interface CitusSchema {
  readonly url: string
  readonly options: { readonly url: Redacted.Redacted<string>; readonly schema: string }
}

/** The name of a new schema, which is dropped when the scope closes. */
export const emptySchema: Effect.Effect<CitusSchema, never, Scope.Scope> = Effect.gen(function* () {
  const url = citusUrl ?? ""
  const schema = `quotewire_${randomUUID().replaceAll("-", "")}`
  yield* Effect.addFinalizer(() => Effect.promise(() => statements(url, `drop schema if exists ${schema} cascade`)))
  return { url, options: { url: Redacted.make(url), schema } }
})

/** The only cell of a storage backend. */
export const cellsOf = ({ options }: Pick<CitusSchema, "options">): PgCells.AllCells => [{ name: "only", ...options }]

/** Migrates the only cell of a storage backend. */
export const migrate = (
  schema: Pick<CitusSchema, "options">
): Effect.Effect<ReadonlyArray<string>, PgStorage.DatabaseRefused> =>
  Effect.flatMap(PgCells.migrate(cellsOf(schema)), ([only]) =>
    only === undefined || only.refusal === null ? Effect.succeed(only?.ran ?? []) : Effect.fail(only.refusal)
  )

/** A migrated, and therefore distributed, schema that lasts as long as the scope. */
export const scopedSchema: Effect.Effect<CitusSchema, PgStorage.DatabaseRefused, Scope.Scope> = Effect.tap(
  emptySchema,
  migrate
)

/** The schemas of a group of tests. */
export class Schemas extends Context.Service<Schemas, ReadonlyArray<CitusSchema>>()("test/CitusSchemas") {}

/** A storage backend in its own schema. */
export const oneCell: Layer.Layer<Storage.Storage | Schemas, PgStorage.DatabaseRefused> = Layer.unwrap(
  Effect.map(scopedSchema, (schema) => Layer.merge(PgCells.layer(cellsOf(schema)), Layer.succeed(Schemas, [schema])))
)

/** A storage backend of two cells, each in its own schema. */
export const twoCells: Layer.Layer<Storage.Storage | Schemas, PgStorage.DatabaseRefused> = Layer.unwrap(
  Effect.gen(function* () {
    const schemas = [yield* emptySchema, yield* emptySchema] as const
    const cells: PgCells.AllCells = [
      { name: "first", ...schemas[0].options },
      { name: "second", ...schemas[1].options }
    ]
    for (const { name } of cells) yield* PgCells.add(cells, name, 1)
    return Layer.merge(PgCells.layer(cells), Layer.succeed(Schemas, schemas))
  })
)

/** Empties all schemas. They stay cells. */
export const emptyAll = Effect.flatMap(Schemas, (schemas) =>
  Effect.forEach(schemas, ({ options, url }) => {
    const deletes = tables.map(
      (table) => `delete from ${options.schema}.${table} where workspace_id <> '${Cell.cellsWorkspace}'`
    )
    return Effect.promise(() => statements(url, ...deletes))
  })
)
