import { assert, describe, it, layer } from "@effect/vitest"
import { Change, Storage } from "@quotewire/core"
import { StorageContract, StorageModel } from "@quotewire/core/testing"
import { PgStorage } from "@quotewire/storage-pg"
import { PgCells } from "@quotewire/storage-pg/cells"
import { Effect, Exit, Fiber, Layer, Redacted, Schema } from "effect"
import { Client } from "pg"
import { eventually } from "../../../test/support/eventually.ts"
import { PostgresServer } from "../../../test/support/PostgresServer.ts"
import { statements } from "../../../test/support/TestDatabase.ts"
import { KnownMigrations, known, type Migration, migrations } from "../src/migrations/migrations.ts"
import {
  type CitusSchema,
  cellsOf,
  citusUrl,
  emptyAll,
  emptySchema,
  migrate,
  needed,
  oneCell,
  scopedSchema,
  twoCells
} from "./support/citus.ts"
import { workspace } from "./support/hosts.ts"
import { openCells } from "./support/moves.ts"

/** A claim so late that every cell is asked, which replaces what was known about the emptied cells. */
const forget = Effect.flatMap(Storage.Storage, (storage) => storage.claim({ now: 1e12, lease_ms: 1, limit: 0 }))
const onEmpty = <A, E, R>(test: Effect.Effect<A, E, R>) => emptyAll.pipe(Effect.andThen(forget), Effect.andThen(test))

const event = (place: number): Change.NewEvent => ({ id: `evt_${place}`, occurred_at: place, about: [], body: "{}" })
const write = (place: number) => Change.make(workspace(1), { events: [event(place)] })

const query = (sql: string, url = citusUrl ?? "") => Effect.promise(() => statements(url, sql))

/** A server in the cluster. */
const Server = Schema.Struct({ host: Schema.String, port: Schema.Int })
const readServers = Schema.decodeUnknownSync(Schema.NonEmptyArray(Server))
/** The server that holds the schema. */
const serverOf = ({ options: { schema } }: CitusSchema) =>
  query(
    `select nodename as host, nodeport as port from citus_shards where table_name = '${schema}.event'::regclass`
  ).pipe(Effect.map((rows) => readServers(rows)[0]))
/** Another server that could hold the schema. */
const otherThan = ({ port }: typeof Server.Type) =>
  query(
    `select nodename as host, nodeport as port from pg_dist_node where shouldhaveshards and nodeport <> ${port}`
  ).pipe(Effect.map((rows) => readServers(rows)[0]))

describe.skipIf(citusUrl === undefined)(`Citus (${needed})`, () => {
  describe.each([
    { name: "one cell", storage: oneCell },
    { name: "two cells", storage: twoCells }
  ])("$name", ({ storage }) => {
    layer(storage, { timeout: 60_000 })("a storage backend on Citus", (it) => {
      for (const { name, needs, run } of StorageContract.cases) {
        it.effect.skipIf(needs === "cells" || needs === "moving")(name, () => onEmpty(run))
      }

      it.effect.prop(
        "behaves like the storage model in random histories",
        [StorageModel.histories],
        ([history]) => onEmpty(StorageModel.compare(history)),
        { arbitrary: { runs: 10, size: 60 }, timeout: 300_000 }
      )
    })
  })

  it.live("a cell moves to another server during writes, and no change is refused or lost", () =>
    Effect.gen(function* () {
      const cell = yield* scopedSchema
      const storage = yield* openCells(cellsOf(cell))
      let written = 0
      const writing = yield* Effect.suspend(() => storage.commit(write(written))).pipe(
        Effect.tap(() => Effect.sync(() => written++)),
        Effect.forever,
        Effect.forkChild
      )
      const to = yield* otherThan(yield* serverOf(cell))
      yield* query(`select citus_schema_move('${cell.options.schema}', '${to.host}', ${to.port})`)
      assert.isAbove(written, 0)
      yield* storage.commit(write(-1))
      yield* Fiber.interrupt(writing)
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(writing)))
      assert.deepStrictEqual(yield* serverOf(cell), to)
      const { events } = yield* storage.feed({ workspace_id: workspace(1), after: 0, limit: 100_000 })
      assert.isAbove(events.length, written)
      assert.deepStrictEqual(
        events.map(({ number }) => number),
        events.map((_, place) => place + 1)
      )
    })
  )

  it.live("the move command refuses a cell on Citus, and names the Citus call to use instead", () =>
    Effect.gen(function* () {
      const { options } = yield* scopedSchema
      const call = `select citus_schema_move('${options.schema}', 'host', port)`
      for (const cell of [options, { ...options, moves_to: options.url }]) {
        const cells: PgCells.AllCells = [{ name: "home", ...cell }]
        assert.include((yield* PgCells.checkMove(cells, "home")).join(), call)
        const { message, reason } = yield* Effect.flip(PgCells.move(cells, "home"))
        assert.strictEqual(reason, "move")
        assert.include(message, call)
      }
    })
  )

  it.live("a cell moves from a plain server to the coordinator, and can then be distributed", () =>
    Effect.gen(function* () {
      const { options, url } = yield* emptySchema
      const server = yield* Effect.acquireRelease(
        Effect.promise(() => PostgresServer.start({ durable: false, settings: { wal_level: "logical" } })),
        (server) => Effect.promise(() => server.remove())
      )
      const old = { ...options, name: "home", url: Redacted.make(server.url("postgres")) }
      const cells: PgCells.AllCells = [{ ...old, moves_to: options.url }]
      yield* PgCells.add(cells, "home", 1)
      const host = yield* openCells(cells)
      yield* host.commit(write(0))
      assert.deepStrictEqual(yield* PgCells.checkMove(cells, "home"), [])
      yield* PgCells.move(cells, "home")
      yield* host.commit(write(1))

      yield* query(`select citus_schema_distribute('${options.schema}')`, url)
      const moved: PgCells.AllCells = [{ ...old, url: options.url }]
      yield* PgCells.migrate(moved)
      const later = yield* openCells(moved)
      yield* later.commit(write(2))
      const { events } = yield* later.feed({ workspace_id: workspace(1), after: 0, limit: 10 })
      assert.deepStrictEqual(
        events.map(({ id }) => id),
        ["evt_0", "evt_1", "evt_2"]
      )
    })
  )

  it.live("a migration that waits for a table does not block the hosts' calls", () =>
    Effect.gen(function* () {
      const cell = yield* scopedSchema
      const storage = yield* openCells(cellsOf(cell))
      const { host, port } = yield* serverOf(cell)
      const url = new URL(cell.url)
      url.host = `${host}:${port}`
      const reader = yield* Effect.acquireRelease(
        Effect.sync(() => new Client(url.href)),
        (client) => Effect.promise(() => client.end())
      )
      yield* Effect.promise(() => reader.connect())
      yield* Effect.promise(() => reader.query(`begin; select from ${cell.options.schema}.event`))
      const next: Migration = {
        number: known + 1,
        name: "next",
        serves_from: known,
        statements: ["alter table quotewire.event add column note text"]
      }
      const migrating = yield* migrate(cell).pipe(
        Effect.provideService(KnownMigrations, [...migrations, next]),
        Effect.forkChild
      )
      // Fails with a division by zero until the migration waits.
      yield* eventually(
        query("select 1 / count(*) from pg_locks where mode = 'AccessExclusiveLock' and not granted", url.href)
      )
      yield* storage.commit(write(0))
      yield* Effect.promise(() => reader.query("rollback"))
      assert.deepStrictEqual(yield* Fiber.join(migrating), ["next"])
    })
  )

  it.live("a database with an undistributed function is not used until it is migrated", () =>
    Effect.gen(function* () {
      const { options } = yield* scopedSchema
      const sql = `create function ${options.schema}.later() returns integer language plpgsql as $$ begin return 1; end $$`
      yield* query(sql)
      const refusal = yield* Effect.flip(openCells(cellsOf({ options })))
      assert.strictEqual(refusal.reason, "half_made_schema")
      assert.match(refusal.message, /not all of its functions: run quotewire migrate/)
      yield* migrate({ options })
      yield* openCells(cellsOf({ options }))
    })
  )

  it.live("a storage backend without cells refuses a database on Citus", () =>
    Effect.gen(function* () {
      const { options } = yield* scopedSchema
      const refusals = [
        yield* Effect.flip(Layer.build(PgStorage.layer(options))),
        yield* Effect.flip(PgStorage.migrate(options))
      ]
      assert.deepStrictEqual(
        refusals.map(({ reason }) => reason),
        ["cell", "cell"]
      )
    })
  )

  it.live("an internal error is reported as a fault, not as a temporary outage", () =>
    Effect.gen(function* () {
      const { options } = yield* scopedSchema
      const storage = yield* openCells(cellsOf({ options }))
      const [found] = yield* query(`select pg_get_functiondef('${options.schema}.lock_workspaces_1'::regproc) as text`)
      const failing = String(found?.text).replace("begin", "begin raise exception 'broken' using errcode = 'XX000';")
      yield* query(failing)
      const exit = yield* Effect.exit(storage.commit(write(0)))
      assert.isTrue(Exit.hasDies(exit))
    })
  )
})
