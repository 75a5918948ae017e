import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Change, type Storage } from "@quotewire/core"
import { PgStorage } from "@quotewire/storage-pg"
import { Cause, Deferred, Effect, Option, Redacted } from "effect"
import { Client } from "pg"
import { eventually, inRealTime, until } from "../../../test/support/eventually.ts"
import { PostgresServer } from "../../../test/support/PostgresServer.ts"
import { statements } from "../../../test/support/TestDatabase.ts"
import { open, type Port, workspace } from "./support/hosts.ts"

let server: PostgresServer
beforeAll(async () => {
  // Commits wait for the disk, because this server crashes.
  server = await PostgresServer.start({ durable: true })
})
afterAll(() => server.remove())

let databases = 0

/** A database with the schema on the server that is going to crash. */
const fresh = Effect.gen(function* () {
  const name = `losses_${++databases}`
  yield* Effect.promise(() => statements(server.url("postgres"), `create database ${name}`))
  const options = { url: Redacted.make(server.url(name)), call_seconds: 5, statement_seconds: 2, connect_seconds: 2 }
  yield* PgStorage.migrate(options)
  return options
})

const sql = (options: PgStorage.Options, ...texts: ReadonlyArray<string>) =>
  Effect.promise(() => statements(Redacted.value(options.url), ...texts))

const terminateAll =
  "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"

/** The next version of a writer's record, with an event about it. */
const step = (writer: number, version: number): Change.Change =>
  Change.make(workspace((writer % 4) + 1), {
    writes: [
      Change.record({ kind: "idempotency_record", id: `${writer}`, version, body: "{}", created_at: 0, updated_at: 0 })
    ],
    events: [{ id: `${writer} ${version}`, occurred_at: version, about: [], body: "{}" }]
  })

/**
 * Stores a change as callers do: retries after each lost response until it succeeds. A conflict after a loss means
 * that the change was stored. Returns the number of losses.
 */
const insist = (storage: Port, change: Change.Change): Effect.Effect<number, Storage.LeaseLost> =>
  Effect.gen(function* () {
    let losses = 0
    const outcome = yield* eventually(
      Effect.flatMap(Effect.result(storage.commit(change)), (tried) => {
        if (tried._tag === "Success" || tried.failure._tag !== "StorageUnavailable") return Effect.succeed(tried)
        losses += 1
        return Effect.fail(tried.failure)
      })
    )
    if (outcome._tag === "Success") return losses
    if (outcome.failure._tag === "LeaseLost") return yield* outcome.failure
    assert.isAbove(losses, 0, "a conflict without a loss before it")
    return losses
  })

const cutCount = 20
const writers = 12
const versions = 60

/** How many changes a load has stored so far. */
interface Stored {
  count: number
}

/** Many concurrent writers, whose last step waits for something. Returns the total number of losses. */
const load = (storage: Port, stored: Stored, beforeLast: Effect.Effect<void> = Effect.void) =>
  Effect.forEach(
    Array.from({ length: writers }, (_, writer) => writer),
    (writer) =>
      Effect.forEach(
        Array.from({ length: versions }, (_, version) => version + 1),
        (version) =>
          Effect.andThen(
            version < versions ? Effect.void : beforeLast,
            Effect.tap(insist(storage, step(writer, version)), () => Effect.sync(() => (stored.count += 1)))
          )
      ),
    { concurrency: "unbounded" }
  ).pipe(Effect.map((losses) => losses.flat().reduce((sum, one) => sum + one, 0)))

/** Every acknowledged change is stored, once and in order. */
const expectWhole = Effect.fnUntraced(function* (storage: Port) {
  for (const place of [1, 2, 3, 4]) {
    const { events } = yield* storage.feed({ workspace_id: workspace(place), after: 0, limit: 10_000 })
    assert.deepStrictEqual(
      events.map(({ number }) => number),
      events.map((_, index) => index + 1)
    )
    for (let writer = place - 1; writer < writers; writer += 4) {
      const own = events.filter(({ id }) => id.startsWith(`${writer} `)).map(({ occurred_at }) => occurred_at)
      assert.deepStrictEqual(
        own,
        Array.from({ length: versions }, (_, version) => version + 1)
      )
      const record = yield* storage.get({ workspace_id: workspace(place), kind: "idempotency_record", id: `${writer}` })
      assert.strictEqual(Option.getOrNull(record)?.version, versions)
    }
  }
})

const request = (id: string): Change.Change =>
  Change.make(workspace(9), {
    writes: [Change.record({ kind: "quote_request", id, version: 1, body: "{}", created_at: 0, updated_at: 0 })]
  })

/** Another host gets hints of one host's commits. */
const expectHeard = Effect.fnUntraced(function* (from: Port, to: Port) {
  const heard: Array<string> = []
  yield* to.watch((hint) => {
    if (hint.about === "record") heard.push(hint.id)
  })
  let place = 0
  // Hints of the first commits may be lost, until the other host listens again.
  yield* eventually(
    Effect.gen(function* () {
      yield* from.commit(request(`qreq_${++place}`))
      assert.isNotEmpty(heard)
    })
  )
}, Effect.scoped)

const unavailable = Effect.fnUntraced(function* (call: Effect.Effect<unknown, { readonly _tag: string }>) {
  assert.strictEqual((yield* Effect.flip(call))._tag, "StorageUnavailable")
})

describe("a host whose connections are cut", () => {
  it.effect(
    "stores each retried change once, and receives hints again",
    () =>
      Effect.gen(function* () {
        const options = yield* fresh
        const [storage, other] = [yield* open(options), yield* open(options)]
        const stored: Stored = { count: 0 }
        const cuts = Effect.forEach(
          Array.from({ length: cutCount }, (_, cut) => (cut * writers * versions) / (cutCount + 1)),
          (count) =>
            Effect.andThen(
              until(() => stored.count >= count),
              sql(options, terminateAll)
            )
        )
        const [losses] = yield* inRealTime(Effect.all([load(storage, stored), cuts], { concurrency: "unbounded" }))
        assert.isAbove(losses, 0)
        yield* eventually(expectWhole(storage))
        yield* expectHeard(storage, other)
        yield* expectHeard(other, storage)
      }),
    120_000
  )
})

describe("a host whose database crashes", () => {
  it.effect(
    "reports every call as unavailable during the crash, and then continues with all data",
    () =>
      Effect.gen(function* () {
        const options = yield* fresh
        const [storage, other] = [yield* open(options), yield* open(options)]
        const crashed = yield* Deferred.make<void>()
        const stored: Stored = { count: 0 }
        const crash = Effect.gen(function* () {
          yield* until(() => stored.count >= (writers * versions) / 10)
          yield* Effect.promise(() => server.stop("immediate"))
          yield* Deferred.succeed(crashed, undefined)
          yield* unavailable(storage.ready)
          yield* unavailable(storage.commit(step(99, 1)))
          yield* unavailable(storage.get({ workspace_id: workspace(1), kind: "idempotency_record", id: "0" }))
          yield* unavailable(storage.claim({ now: 0, lease_ms: 1_000, limit: 1 }))
          yield* unavailable(storage.erase({ what: "workspace", workspace_id: workspace(7) }))
          yield* unavailable(storage.workspaces(null, 1))
          yield* Effect.promise(() => server.startAgain())
        })
        const [losses] = yield* inRealTime(
          Effect.all([load(storage, stored, Deferred.await(crashed)), crash], { concurrency: "unbounded" })
        )
        assert.isAbove(losses, 0)
        yield* eventually(storage.ready)
        yield* eventually(expectWhole(storage))
        yield* expectHeard(storage, other)
      }),
    120_000
  )
})

describe("a statement that takes too long", () => {
  it.effect("is cancelled and reported as unavailable, and stores nothing", () =>
    Effect.gen(function* () {
      const options = yield* fresh
      const storage = yield* open(options)
      yield* storage.commit(step(0, 1))
      yield* Effect.promise(async () => {
        const holder = new Client(Redacted.value(options.url))
        await holder.connect()
        await holder.query("begin")
        await holder.query("select from quotewire.workspace for update")
        try {
          await Effect.runPromise(unavailable(storage.commit(step(0, 2))))
          await Effect.runPromise(storage.commit(step(1, 1)))
        } finally {
          await holder.query("rollback")
          await holder.end()
        }
      })
      const read = storage.get({ workspace_id: workspace(1), kind: "idempotency_record", id: "0" })
      assert.strictEqual(Option.getOrNull(yield* read)?.version, 1)
      yield* storage.commit(step(0, 2))
    })
  )
})

describe("a read-only database", () => {
  it.effect("refuses writes as unavailable, but can still be read", () =>
    Effect.gen(function* () {
      const options = yield* fresh
      const storage = yield* open(options)
      yield* storage.commit(step(0, 1))
      const set = (value: string) =>
        sql(
          options,
          `do $$ begin execute format('alter database %I set default_transaction_read_only = ${value}', current_database()); end $$`,
          terminateAll
        )
      yield* set("on")
      yield* eventually(Effect.asVoid(storage.workspaces(null, 1)))
      yield* eventually(unavailable(storage.commit(step(0, 2))))
      const error = yield* Effect.flip(storage.commit(step(0, 2)))
      assert.strictEqual(error.message, "Storage is unavailable: SQLSTATE 25006.")
      const read = storage.get({ workspace_id: workspace(1), kind: "idempotency_record", id: "0" })
      assert.strictEqual(Option.getOrNull(yield* read)?.version, 1)
    })
  )
})

describe("a server without free connections", () => {
  it.effect("is unavailable to calls that need a new connection, but serves all other calls", () =>
    Effect.gen(function* () {
      const options = yield* fresh
      yield* sql(
        options,
        "create role few login password 'few' connection limit 3",
        "grant usage on schema quotewire to few",
        "grant select, insert, update, delete on all tables in schema quotewire to few"
      )
      const url = new URL(Redacted.value(options.url))
      Object.assign(url, { username: "few", password: "few" })
      // One connection that listens, one that reads, one that writes.
      const storage = yield* open({ ...options, url: Redacted.make(url.href) })
      // A claim of one workspace always asks the database.
      const claim = storage.claim({ now: 0, lease_ms: 1_000, limit: 1, workspace_id: workspace(1) })
      yield* eventually(claim)
      const burst = Effect.forEach(
        Array.from({ length: 30 }, () => claim),
        (one) => Effect.match(one, { onFailure: ({ _tag }) => _tag, onSuccess: () => "done" }),
        { concurrency: "unbounded" }
      )
      // Even if a slow machine spreads out the burst, it must not need more connections than the limit.
      const outcomes = new Set<string>()
      while (outcomes.size < 2) for (const outcome of yield* burst) outcomes.add(outcome)
      assert.sameMembers([...outcomes], ["done", "StorageUnavailable"])
      yield* storage.commit(step(0, 1))
    })
  )
})

describe("a change that PostgreSQL refuses", () => {
  it.effect("is a defect whose message contains no values, and does not affect other changes", () =>
    Effect.gen(function* () {
      const options = yield* fresh
      const storage = yield* open(options)
      const changes = Array.from({ length: 20 }, (_, place) => {
        const id = `record ${place}`
        // PostgreSQL cannot store the character with the code 0 in a text.
        const body = JSON.stringify("a person's secret") + (place === 7 ? "\u0000" : "")
        const record = Change.record({
          kind: "idempotency_record",
          id,
          version: 1,
          body,
          created_at: 0,
          updated_at: 0
        })
        return Change.make(workspace(1), {
          writes: [record],
          events: [{ id, occurred_at: place, about: [], body: "{}" }]
        })
      })
      const exits = yield* Effect.forEach(changes, (change) => Effect.exit(storage.commit(change)), {
        concurrency: "unbounded"
      })
      const failed = exits.flatMap((exit, place) => (exit._tag === "Failure" ? [{ place, cause: exit.cause }] : []))
      assert.deepStrictEqual(
        failed.map(({ place }) => place),
        [7]
      )
      const said = Cause.pretty(failed[0]?.cause ?? assert.fail("a failure"))
      assert.include(said, "PostgreSQL refuses a statement: 22021")
      assert.notInclude(said, "secret")
      const { events } = yield* storage.feed({ workspace_id: workspace(1), after: 0, limit: 100 })
      assert.lengthOf(events, 19)
      assert.strictEqual(events.at(-1)?.number, 19)
    })
  )
})
