import { assert, describe, it } from "@effect/vitest"
import { Change, Storage } from "@quotewire/core"
import { PgStorage } from "@quotewire/storage-pg"
import { PgCells } from "@quotewire/storage-pg/cells"
import { Clock, Context, Effect, Exit, Fiber, Layer, Redacted, Scope } from "effect"
import { TestClock } from "effect/testing"
import { eventually, until } from "../../../test/support/eventually.ts"
import { emptyDatabase, scopedDatabase, statements } from "../../../test/support/TestDatabase.ts"
import { RealClock } from "../src/connection/inRealTime.ts"
import { workspace } from "./support/hosts.ts"
import { Wire } from "./support/Wire.ts"

/** A counted way to a database. */
const wireTo = Effect.fnUntraced(function* (url: string) {
  const address = new URL(url)
  const wire = yield* Effect.acquireRelease(
    Effect.promise(() => Wire.to(Number(address.port || "5432"))),
    (laid) => Effect.sync(() => laid.close())
  )
  address.host = `127.0.0.1:${wire.port}`
  return { wire, url: Redacted.make(address.href) }
})

/** A storage backend whose connections live by the test clock, too. */
const open = (storage: Layer.Layer<Storage.Storage, PgStorage.DatabaseRefused>) =>
  Effect.flatMap(Clock.Clock, (clock) =>
    Effect.map(Layer.build(storage), Context.get(Storage.Storage)).pipe(Effect.provideService(RealClock, clock))
  )

const oneDatabase = Effect.gen(function* () {
  const { url } = yield* scopedDatabase
  const counted = yield* wireTo(url)
  return { url, wire: counted.wire, storage: yield* open(PgStorage.layer({ url: counted.url })) }
})

/** Four cells in one database. */
const fourCells = Effect.gen(function* () {
  const { url } = yield* Effect.acquireRelease(Effect.promise(emptyDatabase), ({ drop }) => Effect.promise(drop))
  const [first, ...others] = ["first", "second", "third", "fourth"]
  const cellsAt = (address: Redacted.Redacted<string>): PgCells.AllCells => [
    { name: "first", schema: first ?? "", url: address },
    ...others.map((name) => ({ name, schema: name, url: address }))
  ]
  for (const name of ["first", ...others]) yield* PgCells.add(cellsAt(Redacted.make(url)), name, 1)
  const counted = yield* wireTo(url)
  return { url, wire: counted.wire, storage: yield* open(PgCells.layer(cellsAt(counted.url))) }
})

const beatMs = 5_000

const claim = (storage: Storage.Storage["Service"], now: number) =>
  Effect.map(storage.claim({ now, lease_ms: 30_000, limit: 10 }), ({ jobs }) => jobs.length)

/** Lets the time pass until the next beat of the listening connection, and waits for the response. */
const beat = Effect.fnUntraced(function* (wire: Wire) {
  const { answers } = wire
  yield* TestClock.adjust(beatMs)
  yield* until(() => wire.answers > answers)
})

describe.each([
  { name: "one database", made: oneDatabase },
  { name: "four cells in one database", made: fourCells }
])("an idle host with $name", ({ made }) => {
  it.effect("sends twelve statements per minute", () =>
    Effect.gen(function* () {
      const { storage, wire } = yield* made
      // The first claims ask the databases.
      for (let now = 1; now <= 10_001; now += 1_000) yield* claim(storage, now)
      const before = wire.requests
      for (let now = 20_000; now < 80_000; now += beatMs) {
        for (let second = 0; second < beatMs; second += 1_000) yield* claim(storage, now + second)
        yield* beat(wire)
      }
      assert.strictEqual(wire.requests - before, 12)
    })
  )
})

describe("a host whose server does not respond", () => {
  it.effect("polls for jobs again shortly after the next heartbeat", () =>
    Effect.gen(function* () {
      const { storage, wire } = yield* oneDatabase
      yield* claim(storage, 1)
      wire.freeze("from")
      const idle = wire.requests
      yield* claim(storage, 2)
      assert.strictEqual(wire.requests, idle)
      yield* TestClock.adjust(beatMs)
      yield* until(() => wire.requests > idle)
      const beaten = wire.requests
      yield* TestClock.adjust(1_000)
      const asking = yield* Effect.forkChild(claim(storage, 3))
      yield* until(() => wire.requests > beaten)
      wire.thaw()
      yield* Fiber.join(asking)
    })
  )
})

/** Claims after the moment for which a claim that finds nothing makes the next one pause, even in real time. */
const claimAgainOn = (storage: Storage.Storage["Service"]) =>
  Effect.map(
    Clock.Clock,
    (clock) => (now: number) =>
      Effect.provideService(TestClock.adjust(5), Clock.Clock, clock).pipe(
        Effect.andThen(storage.claim({ now, lease_ms: 1, limit: 1 }))
      )
  )

const jobIn = (place: number, due_at: number, ordered: boolean) =>
  Change.make(workspace(place), { jobs: [{ kind: "collect", due_at, ordered, payload: "{}" }] })

describe("a host before its next heartbeat", () => {
  it.effect("claims jobs that another host stored just before stopping", () =>
    Effect.gen(function* () {
      const { storage, url } = yield* oneDatabase
      const look = Effect.map(storage.claim({ now: 3, lease_ms: 1, limit: 1 }), ({ jobs, next_due_at }) =>
        jobs.length === 1 ? "a job" : next_due_at
      )
      assert.isNull(yield* look)
      yield* TestClock.adjust(5)
      const scope = yield* Scope.make()
      const other = yield* Scope.provide(open(PgStorage.layer({ url: Redacted.make(url) })), scope)
      yield* other.commit(jobIn(1, 1_000_000, false))
      yield* eventually(Effect.map(look, (found) => assert.strictEqual(found, 1_000_000)))
      yield* TestClock.adjust(5)
      // Its hint waits until some time has passed since the first one.
      yield* other.commit(jobIn(1, 3, false))
      yield* Scope.close(scope, Exit.void)
      yield* eventually(Effect.map(look, (found) => assert.strictEqual(found, "a job")))
    })
  )

  it.effect("claims jobs that a host without a worker releases", () =>
    Effect.gen(function* () {
      const { storage, url } = yield* oneDatabase
      const claimAgain = yield* claimAgainOn(storage)
      const other = yield* open(PgStorage.layer({ url: Redacted.make(url) }))
      yield* other.commit(jobIn(1, 2, true))
      const query = { now: 2, lease_ms: 30_000, limit: 1, workspace_id: workspace(1) }
      const { jobs } = yield* other.claim(query)
      assert.lengthOf(jobs, 1)
      yield* eventually(Effect.map(claimAgain(1), ({ next_due_at }) => assert.strictEqual(next_due_at, 30_002)))
      yield* other.release(jobs)
      yield* eventually(Effect.map(claimAgain(3), (claimed) => assert.lengthOf(claimed.jobs, 1)))
    })
  )
})

describe("a job whose hint did not arrive", () => {
  it.effect("is claimed after the next heartbeat", () =>
    Effect.gen(function* () {
      const { storage, url, wire } = yield* oneDatabase
      assert.strictEqual(yield* claim(storage, 1), 0)
      yield* Effect.promise(() =>
        statements(
          url,
          "insert into quotewire.workspace (workspace_id, last_job) values ('wks_00000000000000000000000001', 1)",
          `insert into quotewire.job (workspace_id, number, kind, due_at, ready_at, payload)
          values ('wks_00000000000000000000000001', 1, 'collect', 2, 2, '{}')`
        )
      )
      yield* beat(wire)
      yield* eventually(Effect.map(claim(storage, 3), (claimed) => assert.strictEqual(claimed, 1)))
    })
  )

  it.effect("is claimed before the next heartbeat if the host that stored it stops", () =>
    Effect.gen(function* () {
      const { storage, url } = yield* oneDatabase
      const claimAgain = yield* claimAgainOn(storage)
      const scope = yield* Scope.make()
      const other = yield* Scope.provide(open(PgStorage.layer({ url: Redacted.make(url) })), scope)
      yield* other.commit(
        Change.make(workspace(1), { jobs: [{ kind: "collect", due_at: 2, ordered: false, payload: "{}" }] })
      )
      const { jobs } = yield* other.claim({ now: 2, lease_ms: 30_000, limit: 1 })
      yield* eventually(
        Effect.map(claimAgain(1), ({ next_due_at }) => assert.strictEqual(next_due_at, 30_002, "the end of its lease"))
      )
      yield* other.release(jobs)
      yield* Scope.close(scope, Exit.void)
      yield* eventually(Effect.map(claimAgain(3), (claimed) => assert.lengthOf(claimed.jobs, 1)))
    })
  )
})
