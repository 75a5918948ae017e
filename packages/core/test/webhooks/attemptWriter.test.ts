import { assert, describe, it } from "@effect/vitest"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect, Fiber, Latch, Option } from "effect"
import * as Change from "../../src/storage/Change.ts"
import type { ClaimedJob } from "../../src/storage/Job.ts"
import { Storage } from "../../src/storage/Storage.ts"
import { World } from "../../src/testing/World.ts"
import * as Attempts from "../../src/webhooks/deliveries/Attempts.ts"
import * as Delivery from "../../src/webhooks/records/Delivery.ts"
import { manualJob } from "../../src/webhooks/records/Delivery.ts"
import { createUnfinished } from "../../src/webhooks/records/EventSubscription.ts"
import * as StoredSubscription from "../../src/webhooks/records/StoredSubscription.ts"
import { SubscriptionId, WorkspaceId } from "../../src/wire/Ids.ts"
import { pass, start, work } from "../support/world.ts"
import { answered, confirmed, create, health, kept, log, sendTest, testScripted, testWebhooks } from "./support.ts"

const live = { environment: "live" } as const

type StorageService = Storage["Service"]
type Commit = StorageService["commit"]

const isOutcome = ({ finishes, writes }: Change.Change): boolean =>
  finishes.length > 0 && writes.some(({ kind }) => kind === "endpoint_health")

/** Records how many results each commit contains. The first one takes a second, so that the others wait. */
const slowly = (seen: Array<number>, commitOf: (storage: StorageService, nth: number) => Commit) => ({
  around: (storage: StorageService): StorageService => ({
    ...storage,
    commit: (change) => {
      if (!isOutcome(change)) return storage.commit(change)
      const nth = seen.push(change.finishes.length)
      const committed = commitOf(storage, nth)(change)
      return nth === 1 ? Effect.delay(committed, 1_000) : committed
    }
  })
})

describe("concurrent results for one endpoint", () => {
  const whole: Array<number> = []
  testWebhooks(
    "are committed together while another commit runs, and otherwise immediately",
    (endpoints) =>
      Effect.gen(function* () {
        const { id } = yield* create({}, live)
        for (let i = 0; i < 8; i++) yield* start({}, live)
        yield* work
        yield* pass(900)
        assert.deepStrictEqual(whole, [1])
        yield* pass(200)
        assert.deepStrictEqual(whole, [1, 7])
        yield* start({}, live)
        yield* pass(200)
        assert.deepStrictEqual(whole, [1, 7, 1])
        assert.lengthOf(endpoints.sent, 9)
        for (const { status, attempts } of yield* log(id, live)) {
          assert.deepStrictEqual([status, attempts.length], ["succeeded", 1])
        }
        assert.strictEqual((yield* health(id, live)).state, "healthy")
      }),
    { send_takes_ms: () => 100 },
    slowly(whole, ({ commit }) => commit)
  )

  const racing: Array<number> = []
  testWebhooks(
    "are committed together even if another process has written to the endpoint in the meantime",
    (endpoints) =>
      Effect.gen(function* () {
        const { id } = yield* create({}, live)
        for (let i = 0; i < 8; i++) yield* start({}, live)
        yield* work
        yield* pass(1_200)
        assert.deepStrictEqual(racing, [1, 7, 7])
        assert.lengthOf(endpoints.sent, 8)
        assert.lengthOf(yield* log(id, live), 8)
      }),
    { send_takes_ms: () => 100 },
    slowly(racing, (storage, nth) => (change) => {
      if (nth !== 2) return storage.commit(change)
      const theirs = change.writes.filter(({ kind }) => kind === "endpoint_health")
      const newer = storage.commit(Change.make(change.workspace_id, { writes: theirs }))
      return Effect.andThen(newer, storage.commit(change))
    })
  )

  const conflicting: Array<number> = []
  testWebhooks(
    "are committed one by one after a conflict, and no result is lost",
    (endpoints) =>
      Effect.gen(function* () {
        const { id } = yield* create({}, live)
        for (let i = 0; i < 8; i++) yield* start({}, live)
        yield* work
        yield* pass(1_200)
        // First the whole batch, which is refused; then the conflicting result twice, because its commit reads again.
        assert.deepStrictEqual(conflicting, [1, 7, 1, 1, 1, 1, 1, 1, 1, 1])
        assert.lengthOf(endpoints.sent, 8)
        for (const { status, attempts } of yield* log(id, live)) {
          assert.deepStrictEqual([status, attempts.length], ["succeeded", 1])
        }
      }),
    { send_takes_ms: () => 100 },
    slowly(conflicting, (storage, nth) => (change) => {
      const [delivery] = change.writes
      if (nth !== 2 || delivery === undefined) return storage.commit(change)
      // Another writer was faster: it wrote a new version of one delivery, with the same content.
      const newer = Effect.flatMap(
        storage.get({ workspace_id: change.workspace_id, kind: "delivery", id: delivery.id }),
        (stored) => {
          const before = Delivery.kind.value(Option.getOrThrow(stored))
          const writes = [Delivery.toStored({ ...before, version: before.version + 1 }, 0)]
          return storage.commit(Change.make(change.workspace_id, { writes }))
        }
      )
      return Effect.andThen(newer, storage.commit(change))
    })
  )

  const taken: Array<number> = []
  testWebhooks(
    "are committed without any result whose job another host has taken over",
    (endpoints) =>
      Effect.gen(function* () {
        const { id } = yield* create({}, live)
        for (let i = 0; i < 8; i++) yield* start({}, live)
        yield* work
        yield* pass(1_200)
        assert.deepStrictEqual(taken.slice(0, 2), [1, 7])
        // The new holder of the job makes the attempt: deliveries are at-least-once.
        assert.lengthOf(endpoints.sent, 9)
        for (const { status, attempts } of yield* log(id, live)) {
          assert.deepStrictEqual([status, attempts.length], ["succeeded", 1])
        }
      }),
    { send_takes_ms: () => 100 },
    slowly(
      taken,
      (storage, nth) => (change) =>
        nth === 2
          ? Effect.andThen(storage.release(change.finishes.slice(2, 3)), storage.commit(change))
          : storage.commit(change)
    )
  )
})

describe("an endpoint's record", () => {
  const makeReads = () => {
    const reads = { count: 0 }
    const counting = (storage: StorageService): StorageService => ({
      ...storage,
      get: (key) => {
        if (key.kind === "endpoint_health") reads.count++
        return storage.get(key)
      }
    })
    return { reads, counting }
  }

  testScripted("is read again only after another process has written to the record", () => {
    const { reads, counting } = makeReads()
    return {
      around: counting,
      body: () =>
        Effect.gen(function* () {
          const { id } = yield* create({}, live)
          yield* work
          const deliverOne = Effect.andThen(start({}, live), pass(1_000))
          for (let i = 0; i < 8; i++) yield* deliverOne
          reads.count = 0
          for (let i = 0; i < 3; i++) yield* deliverOne
          assert.strictEqual(reads.count, 0)
          // A test is recorded in the health of its endpoint.
          yield* sendTest(id, live)
          reads.count = 0
          yield* pass(1_000)
          assert.isAbove(reads.count, 0)
          yield* deliverOne
          const all = yield* log(id, live)
          assert.deepStrictEqual(
            all.map(({ status, attempts }) => [status, attempts.length]),
            Array.from({ length: 13 }, () => ["succeeded", 1])
          )
          assert.strictEqual((yield* health(id, live)).last_attempt?.attempted_at, all[0]?.attempts[0]?.attempted_at)
        })
    }
  })

  testScripted("is read for each result in a sandbox, because a reset restarts the endpoint's health", () => {
    const { reads, counting } = makeReads()
    return {
      around: counting,
      body: () =>
        Effect.gen(function* () {
          const { id } = yield* create()
          yield* work
          for (let i = 0; i < 10; i++) {
            reads.count = 0
            yield* start()
            yield* pass(1_000)
            assert.strictEqual(reads.count, 1)
          }
          assert.lengthOf(yield* log(id), 10)
        })
    }
  })

  testWebhooks(
    "is reloaded if another host has disabled the subscription, so that no retry follows",
    () =>
      Effect.gen(function* () {
        const storage = yield* Storage
        const { id } = yield* create({}, live)
        yield* work
        for (let i = 0; i < 10; i++) {
          yield* start({}, live)
          yield* pass(1_000)
        }
        // Another host died before it could cancel the pending deliveries.
        const stored = (yield* kept("active"))[0] ?? assert.fail("no subscription")
        const disabled = StoredSubscription.changed(StoredSubscription.kind.value(stored), { status: "disabled" }, 0)
        const { organization } = yield* World
        const change = Change.make(organization.workspaces.live, { writes: [StoredSubscription.toStored(disabled)] })
        yield* storage.commit(change)
        yield* pass(1_000)
        const [last, ...others] = yield* log(id, live)
        assert.deepStrictEqual([last?.status, last?.next_attempt_at, last?.attempts.length], ["cancelled", null, 1])
        for (const { status } of others) assert.strictEqual(status, "succeeded")
      }),
    { send: (_, nth) => (nth === 10 ? answered(500) : confirmed), send_takes_ms: (nth) => (nth === 10 ? 1_500 : 0) }
  )
})

const workspaceId = WorkspaceId.make(`wks_${"1".padStart(26, "0")}`)
const subscriptionId = SubscriptionId.make(`sub_${"1".padStart(26, "0")}`)
const eventOf = (place: number) => `evt_${`${place}`.padStart(26, "0")}`

const subscription = createUnfinished({
  id: subscriptionId,
  environment: "live",
  url: "https://hooks.acme.dev/",
  event_types: [],
  sealed: "",
  at: 0
})

const outcome: Delivery.AttemptOutcome = {
  attempted_at: 1,
  ended_at: 2,
  confirmed: true,
  response_status_code: 204,
  response_duration_ms: 1,
  failure: null,
  trigger: "manual"
}

const deliveryOf = (place: number) =>
  Delivery.make({
    subscription_id: subscriptionId,
    event_id: eventOf(place),
    event_type: "webhook.test",
    payload: "{}",
    at: 0
  })

/** Three ended attempts. The first one's commit is held by a gate; the others wait behind it. */
const three = Effect.gen(function* () {
  const storage = yield* Storage
  const deliveries = [1, 2, 3].map(deliveryOf)
  const writes = [
    StoredSubscription.toStored(subscription),
    ...deliveries.map((delivery) => Delivery.toStored(delivery, 0))
  ]
  yield* storage.commit(Change.make(workspaceId, { writes, jobs: deliveries.map(manualJob) }))
  const { jobs } = yield* storage.claim({ now: 1, lease_ms: 1_000, limit: 10 })
  const gate = yield* Latch.make()
  const begun = yield* Latch.make()
  const commits: Array<number> = []
  const write = yield* Attempts.makeWriter({
    ...storage,
    commit: (change) => {
      commits.push(change.finishes.length)
      return commits.length === 1
        ? Effect.andThen(begun.open, Effect.andThen(gate.await, storage.commit(change)))
        : storage.commit(change)
    }
  })
  const attempt = (job: ClaimedJob, index: number) => {
    const delivery = deliveries[index] ?? assert.fail("expected a delivery for each job")
    return Effect.forkChild(
      write({ job, schedule_step: 1, delivery, subscription_id: subscriptionId, outcome, now: 1 }),
      {
        startImmediately: true
      }
    )
  }
  const log = Effect.forEach([1, 2, 3], (place) =>
    Effect.map(
      storage.get({ workspace_id: workspaceId, kind: "delivery", id: Delivery.idOf(subscriptionId, eventOf(place)) }),
      (stored) => Option.map(stored, (record) => Delivery.kind.value(record).status)
    )
  ).pipe(Effect.map((all) => all.map(Option.getOrNull)))
  const [job, ...others] = jobs
  if (job === undefined) return assert.fail("expected three jobs")
  const first = yield* attempt(job, 0)
  yield* begun.await
  const rest = yield* Effect.forEach(others, (other, index) => attempt(other, index + 1))
  return { gate, commits, log, fibers: [first, ...rest] }
})

describe("two hosts that alternately commit results for one endpoint", () => {
  it.effect("do not conflict, and lose no result", () =>
    Effect.gen(function* () {
      const storage = yield* Storage
      const places = [1, 2, 3, 4, 5, 6]
      const deliveries = places.map(deliveryOf)
      const writes = [
        StoredSubscription.toStored(subscription),
        ...deliveries.map((delivery) => Delivery.toStored(delivery, 0))
      ]
      yield* storage.commit(Change.make(workspaceId, { writes, jobs: deliveries.map(manualJob) }))
      const { jobs } = yield* storage.claim({ now: 1, lease_ms: 1_000, limit: 10 })
      const refused: Array<string> = []
      const watched: StorageService = {
        ...storage,
        commit: (change) => Effect.tapError(storage.commit(change), ({ _tag }) => Effect.sync(() => refused.push(_tag)))
      }
      const hosts = [yield* Attempts.makeWriter(watched), yield* Attempts.makeWriter(watched)]
      for (const [index, job] of jobs.entries()) {
        const delivery = deliveries[index] ?? assert.fail("expected a delivery for each job")
        const write = hosts[index % 2] ?? assert.fail("expected two hosts")
        yield* write({ job, schedule_step: 1, delivery, subscription_id: subscriptionId, outcome, now: 1 })
      }
      assert.deepStrictEqual(refused, [])
      const kept = yield* storage.get({ workspace_id: workspaceId, kind: "endpoint_health", id: subscriptionId })
      assert.strictEqual(Option.getOrNull(kept)?.version, places.length)
    }).pipe(Effect.provide(MemoryStorage.layer), Effect.scoped)
  )
})

describe("a host that stops while results are committed", () => {
  it.effect("commits the current result and the waiting results", () =>
    Effect.gen(function* () {
      const { gate, commits, log, fibers } = yield* three
      const [first, second, third] = fibers
      if (first === undefined || second === undefined || third === undefined) return assert.fail("expected three")
      yield* Fiber.interrupt(first)
      yield* gate.open
      yield* Fiber.join(second)
      yield* Fiber.join(third)
      assert.deepStrictEqual(commits, [1, 2])
      assert.deepStrictEqual(yield* log, ["succeeded", "succeeded", "succeeded"])
    }).pipe(Effect.provide(MemoryStorage.layer))
  )

  it.effect("drops a waiting result whose writer is interrupted, and commits the other results", () =>
    Effect.gen(function* () {
      const { gate, commits, log, fibers } = yield* three
      const [first, second, third] = fibers
      if (first === undefined || second === undefined || third === undefined) return assert.fail("expected three")
      yield* Fiber.interrupt(second)
      yield* gate.open
      yield* Fiber.join(first)
      yield* Fiber.join(third)
      assert.deepStrictEqual(commits, [1, 1])
      assert.deepStrictEqual(yield* log, ["succeeded", "pending", "succeeded"])
    }).pipe(Effect.provide(MemoryStorage.layer))
  )
})
