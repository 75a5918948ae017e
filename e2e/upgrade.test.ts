import { assert, describe, it } from "@effect/vitest"
import { PgStorage } from "@quotewire/storage-pg"
import { Effect, Layer } from "effect"
import { KnownMigrations, known, type Migration, migrations } from "../packages/storage-pg/src/migrations/migrations.ts"
import { scopedDatabase, statements, type TestDatabase, tables } from "../test/support/TestDatabase.ts"
import { http, start } from "./host.ts"
import { underLoad } from "./support/underLoad.ts"

/** What the next release knows: a purely additive migration that changes every table. */
const newer = (...more: ReadonlyArray<string>): ReadonlyArray<Migration> => [
  ...migrations,
  {
    number: known + 1,
    name: "later",
    serves_from: known,
    statements: [
      ...tables.map((table) => `alter table quotewire.${table} add column added text`),
      "create index record_added on quotewire.record (workspace_id, added)",
      "create function quotewire.commit_2() returns void language sql as ''",
      ...more
    ]
  }
]

const migrate = ({ options }: TestDatabase, all: ReadonlyArray<Migration>) =>
  Effect.provideService(PgStorage.migrate(options), KnownMigrations, all)

/** Starts a host of a release that knows these migrations. */
const startHost = ({ options }: TestDatabase, all: ReadonlyArray<Migration>) =>
  start(http(PgStorage.layer(options), { drain_ms: 1_000 }).pipe(Layer.provide(Layer.succeed(KnownMigrations, all))))

describe("a release with a purely additive migration", () => {
  it.live(
    "replaces the previous release under load without failed requests or lost data",
    () =>
      Effect.gen(function* () {
        const database = yield* scopedDatabase
        const older = [yield* startHost(database, migrations), yield* startHost(database, migrations)] as const
        // Acts like a load balancer: a host that leaves gets no more calls, then it is stopped.
        const rotation = older.map(({ base_url }) => base_url)
        const { server } = yield* older[0].newOrganization
        const { more, findings } = yield* underLoad(rotation, server)
        yield* more

        // A host of the new release does not start before the migration.
        const early = yield* Effect.flip(Effect.scoped(startHost(database, newer())))
        assert.include(early.message, `is at migration ${known}, but this program needs ${known + 1}`)

        // A migration that fails changes nothing.
        const failed = yield* Effect.flip(migrate(database, newer("select 1 / 0")))
        assert.deepStrictEqual(
          [failed.reason, failed.message],
          ["migration_failed", "The migration later failed (22012). Nothing was changed."]
        )
        assert.strictEqual((yield* PgStorage.status(database.options)).found, known)
        yield* more

        // Of two concurrent migrations, one runs it, while the old hosts keep working.
        const ran = yield* Effect.all([migrate(database, newer()), migrate(database, newer())], {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(ran.flat(), ["later"])
        yield* more

        // New hosts replace the old ones.
        for (const leaving of older) {
          const { base_url } = yield* startHost(database, newer())
          rotation.push(base_url)
          yield* more
          rotation.splice(rotation.indexOf(leaving.base_url), 1)
          yield* leaving.stop
        }
        yield* more
        // No call failed, and no event is missing.
        assert.deepStrictEqual(yield* findings, [])
        const [events] = yield* Effect.promise(() =>
          statements(
            database.url,
            "select bool_and(last = count) as gapless from (select max(number) as last, count(*) from quotewire.event group by workspace_id) feeds"
          )
        )
        assert.isTrue(events?.gapless)
      }),
    120_000
  )
})
