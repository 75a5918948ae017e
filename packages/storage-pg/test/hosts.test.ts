import { randomUUID } from "node:crypto"
import { hostname } from "node:os"
import { assert, describe, it } from "@effect/vitest"
import { Change, type Job } from "@quotewire/core"
import { Cause, Effect, Fiber, Option, Redacted } from "effect"
import { eventually, inRealTime, until } from "../../../test/support/eventually.ts"
import { scopedDatabase, statements } from "../../../test/support/TestDatabase.ts"
import { open, type Port, workspace } from "./support/hosts.ts"

const two = Effect.gen(function* () {
  const { options, url } = yield* scopedDatabase
  return { one: yield* open(options), other: yield* open(options), url }
})

/** A role that may use the tables, and the database's address for it. */
const scopedRole = (url: string) => {
  const name = `quotewire_${randomUUID().replaceAll("-", "")}`
  const own = Object.assign(new URL(url), { username: name, password: "secret" })
  const created = Effect.promise(() =>
    statements(
      url,
      `create role ${name} login password 'secret'`,
      `grant usage on schema quotewire to ${name}`,
      `grant select on all tables in schema quotewire to ${name}`
    )
  )
  return Effect.acquireRelease(Effect.as(created, { name, url: own.href }), () =>
    Effect.promise(() => statements(url, `drop owned by ${name}`, `drop role ${name}`))
  )
}

const request = (id: string, version = 1): Change.Change =>
  Change.make(workspace(1), {
    writes: [Change.record({ kind: "quote_request", id, version, body: "{}", created_at: 0, updated_at: 0 })]
  })

/** Waits for a version as a long poll does: reads, and reads again after each hint. */
const waitFor = Effect.fnUntraced(function* (storage: Port, id: string, version: number) {
  let hints = 0
  yield* storage.watch((hint) => {
    if (hint.about === "record" && hint.id === id) hints += 1
  })
  for (let seen = 0; ; seen = hints) {
    const found = yield* storage.get({ workspace_id: workspace(1), kind: "quote_request", id })
    if (Option.isSome(found) && found.value.version >= version) return found.value.version
    yield* until(() => hints > seen)
  }
}, Effect.scoped)

describe("two hosts on one database", () => {
  it.effect("send each other hints, so that one host's commit wakes the other host's waiting reads", () =>
    Effect.gen(function* () {
      const { one, other } = yield* two
      yield* one.commit(request("qreq_1"))
      const waiting = yield* Effect.forkChild(waitFor(other, "qreq_1", 2))
      yield* Effect.yieldNow
      yield* one.commit(request("qreq_1", 2))
      assert.strictEqual(yield* Fiber.join(waiting), 2)
    })
  )

  it.effect("show operators which processes are connected", () =>
    Effect.gen(function* () {
      const { one, other } = yield* two
      for (const storage of [one, other]) {
        const processes = yield* storage.processes ?? Effect.die("Processes are not known")
        assert.deepStrictEqual(
          processes.map(({ name }) => name),
          [`${process.pid}@${hostname()}`.slice(0, 53)]
        )
        assert.strictEqual(yield* storage.moving ?? Effect.die("Moves are not known"), false)
      }
    })
  )

  it.effect("show operators only processes that connect with the same role", () =>
    Effect.gen(function* () {
      const { options, url } = yield* scopedDatabase
      yield* open(options)
      const other = yield* scopedRole(url)
      const storage = yield* open({ url: Redacted.make(other.url) })
      const processes = yield* storage.processes ?? Effect.die("Processes are not known")
      const [{ since } = assert.fail("no connection")] = yield* Effect.promise(() =>
        statements(
          url,
          `select floor(extract(epoch from min(backend_start)) * 1000)::float8 as since from pg_stat_activity
          where usename = '${other.name}'`
        )
      )
      assert.deepStrictEqual(
        processes.map((process) => Math.abs(process.since - Number(since)) <= 1),
        [true]
      )
    })
  )

  it.effect("store only one of two changes that each depend on the record that the other change writes", () =>
    Effect.gen(function* () {
      const { one, other } = yield* two
      const crossed = (storage: Port, from: string, to: string) =>
        storage.commit({ ...request(to), expects: [{ kind: "quote_request", id: from, version: 0 }] }).pipe(
          Effect.as(1),
          Effect.catchTag("VersionConflict", () => Effect.succeed(0))
        )
      const places = Array.from({ length: 40 }, (_, place) => `${place}`)
      const stored = yield* Effect.forEach(
        places,
        (place) =>
          Effect.all([crossed(one, `a${place}`, `b${place}`), crossed(other, `b${place}`, `a${place}`)], {
            concurrency: "unbounded"
          }),
        { concurrency: 8 }
      )
      assert.deepStrictEqual(
        stored.map(([first, second]) => first + second),
        places.map(() => 1)
      )
    })
  )

  it.effect("announce hundreds of commits in a few notifications, and lose no hint", () =>
    Effect.gen(function* () {
      const { one, other, url } = yield* two
      const heard = new Set<string>()
      yield* other.watch((hint) => {
        if (hint.about === "record") heard.add(hint.id)
      })
      const ids = Array.from({ length: 300 }, (_, place) => `qreq_${place.toString().padStart(26, "0")}`)
      yield* Effect.forEach(ids, (id) => one.commit(request(id)), { concurrency: "unbounded" })
      yield* until(() => heard.size === ids.length)
      const [row] = yield* Effect.promise(() => statements(url, "select pg_notification_queue_usage()::float8 as used"))
      assert.isBelow(Number(row?.used), 0.01)
    })
  )

  it.effect("keep sending notifications after the database has refused a notification", () =>
    Effect.gen(function* () {
      const { options, url } = yield* scopedDatabase
      const sql = (...texts: ReadonlyArray<string>) => Effect.promise(() => statements(url, ...texts))
      yield* sql(
        "create sequence public.refusals",
        `do $$ begin execute format('alter database %I set search_path = public, pg_catalog', current_database()); end $$`,
        `create function public.pg_notify(text, text) returns void language plpgsql
          as $$ begin perform nextval('refusals'); raise exception 'refused'; end $$`
      )
      const one = yield* open(options)
      const other = yield* open(options)
      const heard = new Set<string>()
      yield* other.watch((hint) => {
        if (hint.about === "record") heard.add(hint.id)
      })
      yield* one.commit(request("qreq_1"))
      yield* eventually(
        Effect.map(sql("select is_called from public.refusals"), ([row]) => assert.isTrue(row?.is_called))
      )
      yield* sql("drop function public.pg_notify(text, text)")
      yield* one.commit(request("qreq_2"))
      yield* until(() => heard.has("qreq_2"))
      assert.isFalse(heard.has("qreq_1"))
    })
  )

  it.effect("ignore everything on their notification channel except hints", () =>
    Effect.gen(function* () {
      const { one, other, url } = yield* two
      const heard: Array<string> = []
      yield* other.watch((hint) => {
        heard.push(hint.about === "record" ? hint.id : hint.about)
      })
      yield* Effect.promise(() =>
        statements(url, "notify quotewire", "notify quotewire, E'host\\njobs nonsense\\nnews qreq_1\\n\\n '")
      )
      yield* one.commit(request("qreq_2"))
      yield* until(() => heard.includes("qreq_2"))
      assert.deepStrictEqual(new Set(heard), new Set(["qreq_2"]))
    })
  )

  it.effect("share the due work, and each job goes to one host", () =>
    Effect.gen(function* () {
      const { one, other } = yield* two
      const count = 500
      // Ordered and unordered jobs, some of them in one of two lanes.
      const job = (place: number) =>
        ({
          kind: "deliver",
          due_at: place,
          ordered: place % 5 === 0,
          payload: `${place}`,
          ...(place % 5 > 2 && { lane: { name: `lane ${place % 5}`, limit: 3, urgent: place % 5 === 4 } })
        }) as const
      yield* Effect.forEach(
        Array.from({ length: count }, (_, place) => place),
        (place) => one.commit(Change.make(workspace(place % 7), { jobs: [job(place)] })),
        { concurrency: "unbounded", discard: true }
      )
      const done: Array<string> = []
      // Each host claims and finishes jobs in two fibers.
      const work = Effect.fnUntraced(function* (storage: Port) {
        while (done.length < count) {
          const { jobs } = yield* storage.claim({ now: count, lease_ms: 60_000, limit: 20 })
          yield* Effect.forEach(
            jobs,
            (held) =>
              Effect.andThen(
                storage.commit(Change.make(held.workspace_id, { finishes: [held] })),
                Effect.sync(() => done.push(held.payload))
              ),
            { concurrency: "unbounded" }
          )
          yield* Effect.yieldNow
        }
      })
      yield* Effect.all([work(one), work(other), work(one), work(other)], { concurrency: "unbounded" })
      // Nothing was done twice, and nothing is left.
      assert.lengthOf(done, count)
      assert.strictEqual(new Set(done).size, count)
      assert.deepStrictEqual(yield* one.claim({ now: count, lease_ms: 1, limit: 1 }), {
        jobs: [],
        next_due_at: null,
        busy: false
      })
    })
  )

  it.effect("leave jobs of unknown kinds to a newer host, and run all other jobs", () =>
    Effect.gen(function* () {
      const { one, url } = yield* two
      const sql = (text: string) => Effect.promise(() => statements(url, text))
      const jobs = (kind: Job.JobKind, places: ReadonlyArray<number>): ReadonlyArray<Job.NewJob> =>
        places.flatMap((due_at) => {
          const bare = { kind, due_at, ordered: false, payload: "{}" }
          const lane = { name: "lane", limit: 5, urgent: false }
          return [bare, { ...bare, lane }, { ...bare, ordered: true }]
        })
      yield* one.commit(
        Change.make(workspace(1), { jobs: [...jobs("refresh_quote", [10]), ...jobs("deliver", [10, 20])] })
      )
      yield* sql("update quotewire.job set kind = 'newer' where kind = 'refresh_quote'")
      const backlog = yield* one.backlog?.({ now: 100, limit: 100 }) ?? Effect.succeed([])
      assert.deepStrictEqual(backlog, [{ kind: "deliver", due: 6, oldest_due_at: 10 }])
      const listed = yield* one.lane({ workspace_id: workspace(1), lane: "lane", limit: 100 })
      assert.deepStrictEqual(
        listed.map(({ kind }) => kind),
        ["deliver", "deliver"]
      )
      const claim = (now: number, more: object = {}) => one.claim({ now, lease_ms: 1_000, limit: 100, ...more })
      // The host claims the jobs that it knows.
      const known = yield* claim(100)
      assert.deepStrictEqual(
        known.jobs
          .map(({ ordered, lane, due_at }) => [ordered ? "ordered" : (lane?.name ?? "none"), due_at])
          .toSorted(),
        [10, 20]
          .flatMap((dueAt) => [
            ["lane", dueAt],
            ["none", dueAt]
          ])
          .toSorted()
      )
      // The ordered jobs wait behind a job of a kind that this host does not know, and so do callers that want them
      // done.
      const behind = yield* claim(200, { workspace_id: workspace(1) })
      assert.deepStrictEqual([behind.jobs, behind.busy], [[], true])
      assert.deepStrictEqual(
        yield* sql("select distinct lease, expired_leases, held from quotewire.job where kind = 'newer'"),
        [{ lease: 0, expired_leases: 0, held: false }]
      )
      // Once the kind is known, its jobs are claimed as if never claimed before, in order.
      yield* sql("update quotewire.job set kind = 'refresh_quote' where kind = 'newer'")
      const later = yield* claim(300)
      assert.deepStrictEqual(
        later.jobs.map(({ kind, lease, expired_leases }) => [kind, lease, expired_leases]),
        [
          ["refresh_quote", 1, 0],
          ["refresh_quote", 1, 0],
          ["refresh_quote", 1, 0],
          ["deliver", 1, 0]
        ]
      )
    })
  )

  it.effect("report a stored job that they cannot read, instead of leaving it out", () =>
    Effect.gen(function* () {
      const { one, url } = yield* two
      yield* one.commit(
        Change.make(workspace(1), { jobs: [{ kind: "collect", due_at: 10, ordered: false, payload: "{}" }] })
      )
      yield* Effect.promise(() => statements(url, `update quotewire.job set due_at = ${2n ** 60n}`))
      const cause = yield* Effect.flip(Effect.sandbox(one.claim({ now: 100, lease_ms: 1_000, limit: 1 })))
      assert.isTrue(Cause.hasDies(cause))
    })
  )

  it.effect("can write to a workspace while one host erases the workspace's old records", () =>
    Effect.gen(function* () {
      const { one, other } = yield* two
      const old = Array.from({ length: 1_200 }, (_, place) => request(`qreq_old_${place}`))
      yield* Effect.forEach(old, (change) => one.commit(change), { concurrency: "unbounded", discard: true })
      const erase = one.erase({
        what: "records",
        workspace_id: workspace(1),
        kind: "quote_request",
        created_before: 1,
        limit: 5_000
      })
      const write = Effect.forEach(
        Array.from({ length: 100 }, (_, place) => place),
        (place) =>
          other.commit(
            Change.make(workspace(1), { events: [{ id: `${place}`, occurred_at: 0, about: [], body: "{}" }] })
          ),
        { discard: true }
      )
      const [erased] = yield* inRealTime(Effect.all([erase, write], { concurrency: "unbounded" }))
      assert.strictEqual(erased.records.quote_request, old.length)
      yield* eventually(
        Effect.gen(function* () {
          const { events } = yield* other.feed({ workspace_id: workspace(1), after: 0, limit: 1_000 })
          assert.lengthOf(events, 100)
        })
      )
    })
  )
})

describe("a host that has closed its storage", () => {
  it.effect("leaves no connection open, however soon the storage closes", () =>
    Effect.gen(function* () {
      const { options, url } = yield* scopedDatabase
      yield* Effect.scoped(open(options))
      const others = "select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
      yield* eventually(
        Effect.map(
          Effect.promise(() => statements(url, others)),
          (rows) => assert.deepStrictEqual(rows, [])
        )
      )
    })
  )

  it.effect("refuses later calls immediately", () =>
    Effect.gen(function* () {
      const { options } = yield* scopedDatabase
      const storage = yield* Effect.scoped(open(options))
      const calls: ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string }>> = [
        storage.commit(request("qreq_1")),
        storage.get({ workspace_id: workspace(1), kind: "quote", id: "qt_1" }),
        storage.feed({ workspace_id: workspace(1), after: 0, limit: 1 }),
        storage.page({
          workspace_id: workspace(1),
          kind: "quote",
          parent: "qreq_1",
          order: "oldest",
          after: null,
          limit: 1
        })
      ]
      for (const call of calls) {
        const { _tag } = yield* inRealTime(Effect.timeout(Effect.flip(call), "5 seconds"))
        assert.strictEqual(_tag, "StorageUnavailable")
      }
    })
  )
})
