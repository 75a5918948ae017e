import { assert, describe, it } from "@effect/vitest"
import { Change } from "@quotewire/core"
import { PgStorage } from "@quotewire/storage-pg"
import { Effect, Fiber, Option, Redacted, type Scope } from "effect"
import { Client } from "pg"
import { eventually } from "../../../test/support/eventually.ts"
import { emptyDatabase, statements, type TestDatabase, tables } from "../../../test/support/TestDatabase.ts"
import { KnownMigrations, known, type Migration, migrations } from "../src/migrations/migrations.ts"
import { open, workspace } from "./support/hosts.ts"

const empty = Effect.acquireRelease(Effect.promise(emptyDatabase), ({ drop }) => Effect.promise(drop))

const steps = migrations.map(({ name }) => name)

const sql = (database: TestDatabase, ...texts: ReadonlyArray<string>) =>
  Effect.promise(() => statements(database.url, ...texts))

/** Another session on the database, until the scope closes. */
const session = Effect.fnUntraced(function* ({ url }: TestDatabase) {
  const client = yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const opened = new Client(url)
      await opened.connect()
      return opened
    }),
    (opened) => Effect.promise(() => opened.end())
  )
  return (...texts: ReadonlyArray<string>) =>
    Effect.promise(async () => {
      for (const text of texts) await client.query(text)
    })
})

/** A version of a quote, with an event about it and a job that is due immediately. */
const step = (version: number): Change.Change =>
  Change.make(workspace(1), {
    writes: [
      Change.record({
        kind: "quote",
        id: "qt_1",
        version,
        body: `${version}`,
        created_at: version,
        updated_at: version
      })
    ],
    events: [{ id: `evt_${version}`, occurred_at: version, about: [], body: "{}" }],
    jobs: [
      { kind: "collect", due_at: version, ordered: false, lane: { name: "a", limit: 2, urgent: false }, payload: "{}" }
    ]
  })

/** The migrations of a newer program: one more. */
const newer = (later: Pick<Migration, "serves_from" | "statements">): ReadonlyArray<Migration> => [
  ...migrations,
  { number: known + 1, name: "later", ...later }
]

/** Migrates like a program that knows these migrations. */
const migrateTo = (options: PgStorage.Options, all: ReadonlyArray<Migration>) =>
  Effect.provideService(PgStorage.migrate(options), KnownMigrations, all)

const refusal = (program: Effect.Effect<unknown, PgStorage.DatabaseRefused, Scope.Scope>) =>
  Effect.flip(Effect.scoped(program))

describe("a migration", () => {
  it.effect("creates the schema of an empty database once, and returns the steps that ran", () =>
    Effect.gen(function* () {
      const database = yield* empty
      assert.deepStrictEqual(yield* PgStorage.status(database.options), {
        found: 0,
        serves_from: 0,
        known,
        pending: steps,
        excludes_older: false
      })
      assert.deepStrictEqual(yield* PgStorage.migrate(database.options), steps)
      assert.deepStrictEqual(yield* PgStorage.migrate(database.options), [])
      const status = yield* PgStorage.status(database.options)
      assert.deepStrictEqual([status.found, status.pending], [known, []])
      const storage = yield* open(database.options)
      yield* storage.ready
      assert.deepStrictEqual(yield* storage.workspaces(null, 10), [])
    })
  )

  it.effect("runs once if several hosts start it on an empty database", () =>
    Effect.gen(function* () {
      const database = yield* empty
      const hosts = Array.from({ length: 6 }, () => PgStorage.migrate(database.options))
      const ran = yield* Effect.all(hosts, { concurrency: "unbounded" })
      assert.deepStrictEqual(ran.flat(), steps)
      const rows = yield* sql(database, "select name from quotewire.migration order by number")
      assert.deepStrictEqual(
        rows,
        steps.map((name) => ({ name }))
      )
    })
  )

  it.effect("runs alone after earlier migrations, or together with them on an empty database", () =>
    Effect.gen(function* () {
      const [older, fresh] = [yield* empty, yield* empty]
      const later = newer({ serves_from: known, statements: ["create table quotewire.note (id text primary key)"] })
      yield* PgStorage.migrate(older.options)
      const storage = yield* open(older.options)
      yield* storage.commit(step(1))
      assert.deepStrictEqual(yield* migrateTo(older.options, later), ["later"])
      assert.deepStrictEqual(yield* migrateTo(fresh.options, later), [...steps, "later"])
      for (const database of [older, fresh]) {
        assert.deepStrictEqual(yield* sql(database, "select * from quotewire.note"), [])
        assert.deepStrictEqual(yield* PgStorage.status(database.options), {
          found: known + 1,
          serves_from: known,
          known,
          pending: [],
          excludes_older: false
        })
      }
      const kept = yield* storage.get({ workspace_id: workspace(1), kind: "quote", id: "qt_1" })
      assert.strictEqual(Option.getOrNull(kept)?.version, 1)
    })
  )

  it.effect("changes nothing in a dry run, which reports whether it would run", () =>
    Effect.gen(function* () {
      const database = yield* empty
      const tried = PgStorage.migrate(database.options, { dry_run: true })
      assert.deepStrictEqual(yield* tried, steps)
      assert.strictEqual((yield* PgStorage.status(database.options)).found, 0)
      assert.deepStrictEqual(yield* sql(database, "select to_regnamespace('quotewire') as schema"), [{ schema: null }])
      assert.deepStrictEqual(yield* PgStorage.migrate(database.options), steps)
      assert.deepStrictEqual(yield* tried, [])
      const wrong = newer({ serves_from: known, statements: ["create table quotewire.job (id text)"] })
      const failed = yield* refusal(Effect.provideService(tried, KnownMigrations, wrong))
      assert.strictEqual(failed.reason, "half_made_schema")
    })
  )

  it.effect("is listed as pending, and the status tells whether running hosts will stay ready", () =>
    Effect.gen(function* () {
      const database = yield* empty
      yield* PgStorage.migrate(database.options)
      const statusFor = (serves_from: number) =>
        Effect.provideService(
          PgStorage.status(database.options),
          KnownMigrations,
          newer({ serves_from, statements: ["create table quotewire.note (id text)"] })
        )
      const [additive, breaking] = [yield* statusFor(known), yield* statusFor(known + 1)]
      assert.deepStrictEqual([additive.pending, additive.excludes_older], [["later"], false])
      assert.deepStrictEqual([breaking.pending, breaking.excludes_older], [["later"], true])
    })
  )

  it.effect("leaves the schema at the previous migration if it fails", () =>
    Effect.gen(function* () {
      const database = yield* empty
      yield* PgStorage.migrate(database.options)
      const later = newer({
        serves_from: known,
        statements: ["create table quotewire.note (id text)", "create table quotewire.job (id text)"]
      })
      assert.strictEqual((yield* refusal(migrateTo(database.options, later))).reason, "half_made_schema")
      assert.strictEqual((yield* PgStorage.status(database.options)).found, known)
      assert.deepStrictEqual(yield* sql(database, "select to_regclass('quotewire.note') as note"), [{ note: null }])
    })
  )

  it.effect("reports the error code, but no values, if it fails unexpectedly", () =>
    Effect.gen(function* () {
      const database = yield* empty
      yield* PgStorage.migrate(database.options)
      const later = newer({
        serves_from: known,
        statements: ["create table quotewire.note (id text)", "select 'a value'::integer"]
      })
      const error = yield* refusal(migrateTo(database.options, later))
      assert.deepStrictEqual(
        [error.reason, error.message],
        ["migration_failed", "The migration later failed (22P02). Nothing was changed."]
      )
      assert.deepStrictEqual(yield* sql(database, "select to_regclass('quotewire.note') as note"), [{ note: null }])
    })
  )

  it.effect("does not block hosts while it waits for a table, and runs when the table is free", () =>
    Effect.gen(function* () {
      const database = yield* empty
      yield* PgStorage.migrate(database.options)
      const storage = yield* open(database.options)
      const backup = yield* session(database)
      yield* backup("begin", "lock table quotewire.record in access share mode")
      const later = newer({ serves_from: known, statements: ["alter table quotewire.record add column added text"] })
      const migrating = yield* Effect.forkChild(migrateTo(database.options, later))
      const waiting =
        "select from pg_locks join pg_database on pg_database.oid = database where datname = current_database() and not granted"
      yield* eventually(Effect.map(sql(database, waiting), (rows) => assert.lengthOf(rows, 1)))
      yield* storage.commit(step(1))
      assert.strictEqual((yield* PgStorage.status(database.options)).found, known)
      yield* backup("commit")
      assert.deepStrictEqual(yield* Fiber.join(migrating), ["later"])
    })
  )

  it.effect("leaves the schema unchanged if it fails halfway, and names the obstacle in one sentence", () =>
    Effect.gen(function* () {
      const database = yield* empty
      // An object with this name makes one of the last steps fail.
      yield* sql(
        database,
        "create schema quotewire",
        "create table quotewire.in_the_way (id int)",
        "create function quotewire.tally_1(bigint, text[], text[], bigint[], bigint[], bigint[]) returns int language sql as 'select 1'"
      )
      const error = yield* refusal(PgStorage.migrate(database.options))
      assert.strictEqual(error.reason, "half_made_schema")
      assert.match(
        error.message,
        /^The schema quotewire in the database quotewire_\w+ differs from what the migrations create \(function "?tally_1"? already exists.*\): nothing was changed; remove the conflicting object, or restore the missing object, and migrate again\.$/
      )
      const found = yield* sql(
        database,
        "select table_name from information_schema.tables where table_schema = 'quotewire' order by 1"
      )
      assert.deepStrictEqual(found, [{ table_name: "in_the_way" }])
      assert.strictEqual((yield* PgStorage.status(database.options)).found, 0)
      yield* sql(database, "drop schema quotewire cascade")
      assert.deepStrictEqual(yield* PgStorage.migrate(database.options), steps)
    })
  )
})

describe("a partly created schema", () => {
  it.effect.each([
    { what: "a table without its migration", sql: "create table quotewire.job (id int)", says: /"job" already exists/ },
    {
      what: "a foreign migration table",
      sql: "create table quotewire.migration (id int)",
      says: /"?number"? does not exist/
    }
  ])("is left unchanged and reported in one sentence if it has $what", ({ sql: made, says }) =>
    Effect.gen(function* () {
      const database = yield* empty
      yield* sql(database, "create schema quotewire", made)
      const error = yield* refusal(PgStorage.migrate(database.options))
      assert.strictEqual(error.reason, "half_made_schema")
      assert.match(error.message, says)
      assert.notInclude(error.message, "\n")
      assert.lengthOf(yield* sql(database, "select from information_schema.tables where table_schema = 'quotewire'"), 1)
    })
  )
})

describe("a user without permissions", () => {
  it.effect("cannot migrate, and the error says what the user may not do", () =>
    Effect.gen(function* () {
      const database = yield* empty
      const url = new URL(database.url)
      const user = url.pathname.slice(1)
      url.username = user
      url.password = "guest"
      yield* Effect.addFinalizer(() => sql(database, `drop owned by ${user}`, `drop role ${user}`))
      yield* sql(database, "create schema quotewire", `create role ${user} login password 'guest'`)
      const error = yield* refusal(PgStorage.migrate({ ...database.options, url: Redacted.make(url.href) }))
      assert.strictEqual(error.reason, "permission")
      assert.match(
        error.message,
        /^The user \w+ lacks a permission in the database \w+ \(permission denied for \w+ \w+\): grant it, or migrate as the database's owner\.$/
      )
    })
  )
})

describe("a host", () => {
  it.effect("does not start on an older schema, and explains what to do", () =>
    Effect.gen(function* () {
      const database = yield* empty
      const error = yield* refusal(open(database.options))
      assert.deepStrictEqual(
        [error.reason, error.message],
        [
          "older_schema",
          `The database schema is at migration 0, but this program needs ${known}. First run quotewire migrate, PgStorage.migrate, or postgres({ migrate: true }).`
        ]
      )
    })
  )

  it.effect("does not start, or stay ready, on a schema that is too new", () =>
    Effect.gen(function* () {
      const database = yield* empty
      yield* PgStorage.migrate(database.options)
      const running = yield* open(database.options)
      yield* running.ready
      const later = newer({ serves_from: known + 1, statements: ["drop function quotewire.release_1"] })
      assert.deepStrictEqual(yield* migrateTo(database.options, later), ["later"])
      const error = yield* refusal(open(database.options))
      assert.strictEqual(error.reason, "newer_schema")
      assert.include(error.message, `migration ${known + 1}`)
      assert.deepStrictEqual(yield* PgStorage.migrate(database.options), [])
      assert.strictEqual((yield* Effect.flip(running.ready))._tag, "StorageUnavailable")
    })
  )

  it.effect("keeps serving alongside a newer host if the new schema only adds to the old schema", () =>
    Effect.gen(function* () {
      const database = yield* empty
      yield* PgStorage.migrate(database.options)
      const before = yield* open(database.options)
      yield* before.commit(step(1))
      const later = newer({
        serves_from: known,
        statements: [
          ...tables.map((table) => `alter table quotewire.${table} add column added text`),
          "create function quotewire.commit_2() returns void language sql as ''"
        ]
      })
      assert.deepStrictEqual(yield* migrateTo(database.options, later), ["later"])
      const after = yield* open(database.options)
      for (const [version, storage] of [
        [2, before],
        [3, after],
        [4, before]
      ] as const) {
        yield* storage.ready
        yield* storage.commit(step(version))
        const { jobs } = yield* storage.claim({ now: version, lease_ms: 1_000, limit: 10 })
        yield* storage.commit(Change.make(workspace(1), { finishes: jobs }))
        const read = yield* storage.get({ workspace_id: workspace(1), kind: "quote", id: "qt_1", version: version - 1 })
        assert.deepStrictEqual(
          [jobs.length, Option.map(read, ({ body }) => body)],
          [version === 2 ? 2 : 1, Option.some(`${version - 1}`)]
        )
      }
      const { events } = yield* before.feed({ workspace_id: workspace(1), after: 0, limit: 10 })
      assert.deepStrictEqual(
        events.map(({ id, number }) => [id, number]),
        [1, 2, 3, 4].map((number) => [`evt_${number}`, number])
      )
    })
  )
})

describe("a host that starts", () => {
  const changed = (url: string, change: (url: URL) => void): string => {
    const other = new URL(url)
    change(other)
    return other.href
  }
  const refused = (url: string) => refusal(open({ url: Redacted.make(url) }))

  it.effect("reports an unusable database in one sentence, without the password", () =>
    Effect.gen(function* () {
      const { url } = yield* empty
      const cases = [
        [
          "credentials",
          changed(url, (other) => {
            other.password = "not-the-secret"
          }),
          "refuses the user"
        ],
        [
          "database",
          changed(url, (other) => {
            other.pathname = "/nowhere"
          }),
          "has no database nowhere"
        ],
        [
          "unreachable",
          changed(url, (other) => {
            other.port = "1"
          }),
          "cannot be reached at"
        ],
        ["address", "not an address of not-the-secret", "such as postgres://"],
        ["address", "https://user:not-the-secret@localhost/x", "such as postgres://"]
      ] as const
      for (const [reason, address, says] of cases) {
        const error = yield* refused(address)
        assert.strictEqual(error.reason, reason, error.message)
        assert.include(error.message, says)
        assert.notMatch(error.message, /secret|\n/)
      }
    })
  )
})
