import { assert, describe } from "@effect/vitest"
import { Storage } from "@quotewire/core"
import { Clock, Effect, Scope } from "effect"
import { prompt } from "../../packages/core/test/quoting/carriers.ts"
import { anotherHost, live, pass, runDue, start, work } from "../../packages/core/test/support/world.ts"
import {
  answered,
  confirmed,
  create,
  deliveries,
  health,
  log,
  only,
  type Sent,
  testWebhooks,
  url
} from "../../packages/core/test/webhooks/support.ts"

/*
 * Long outages of an endpoint or the database.
 */

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

/** The wait before each retry, from the end of the previous attempt, as the contract promises. */
const waitsMs = [5_000, 5 * minuteMs, 30 * minuteMs, 2 * hourMs, 5 * hourMs, 10 * hourMs, 10 * hourMs]

/** A database that can be unavailable. */
const flapping = () => {
  const state = { isAway: false }
  const away = Effect.fail(new Storage.StorageUnavailable({ retry_after_seconds: 1 }))
  const unlessAway = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E | Storage.StorageUnavailable> =>
    Effect.suspend((): Effect.Effect<A, E | Storage.StorageUnavailable> => (state.isAway ? away : effect))
  const around = (storage: Storage.Storage["Service"]): Storage.Storage["Service"] => ({
    ...storage,
    commit: (change) => unlessAway(Effect.tap(storage.commit(change), () => (state.isAway ? away : Effect.void))),
    get: (key) => unlessAway(storage.get(key)),
    page: (query) => unlessAway(storage.page(query)),
    feed: (query) => unlessAway(storage.feed(query)),
    claim: (query) => unlessAway(storage.claim(query)),
    release: (leases) => unlessAway(storage.release(leases)),
    erase: (erasure) => unlessAway(storage.erase(erasure)),
    addCounts: (now, additions) => unlessAway(storage.addCounts(now, additions)),
    lane: (query) => unlessAway(storage.lane(query))
  })
  return { state, around }
}

const carriers = [prompt("first").adapter, prompt("second").adapter]

describe("a host during an hour of database outages", () => {
  const database = flapping()
  testWebhooks(
    "loses no webhook delivery, and repeats interrupted attempts",
    (endpoints) =>
      Effect.gen(function* () {
        const { id } = yield* create({}, live)
        yield* work
        const accepted: Array<string> = []
        // Unavailable for longer than a lease, and back for less time than an attempt takes.
        for (let passedMs = 0; passedMs < hourMs; passedMs += 44_000) {
          if (accepted.length < 10) accepted.push((yield* start({}, live)).id)
          yield* pass(4_000)
          database.state.isAway = true
          yield* pass(40_000)
          database.state.isAway = false
        }
        yield* pass(2 * minuteMs)
        const all = yield* log(id, live)
        assert.lengthOf(all, accepted.length)
        for (const { status, attempts } of all) assert.deepStrictEqual([status, attempts.length], ["succeeded", 1])
        // Each return of the database costs at most one POST per delivery.
        assert.isAtMost(endpoints.sent.length, accepted.length * Math.ceil(hourMs / 44_000))
      }),
    { send_takes_ms: () => 6_000 },
    { around: database.around, carriers }
  )
})

describe("two hosts during an hour of database outages", () => {
  const database = flapping()
  testWebhooks(
    "lose no webhook delivery, whichever host takes over an expired lease",
    (endpoints) =>
      Effect.gen(function* () {
        const there = yield* anotherHost({ webhooks: endpoints.layer, carriers })
        yield* there(Scope.provide(work, yield* Effect.scope))
        yield* work
        const { id } = yield* create({}, live)
        for (let nth = 0; nth < 5; nth++) yield* start({}, live)
        for (let passedMs = 0; passedMs < hourMs; passedMs += 36_000) {
          yield* pass(3_000)
          database.state.isAway = true
          yield* pass(33_000)
          database.state.isAway = false
        }
        yield* pass(2 * minuteMs)
        for (const { status } of yield* log(id, live)) assert.strictEqual(status, "succeeded")
      }),
    { send_takes_ms: () => 6_000 },
    { around: database.around, carriers }
  )
})

describe("an endpoint that never recovers", () => {
  testWebhooks(
    "gets eight attempts per delivery on schedule, and no attempts after delivery is turned off",
    (endpoints) =>
      Effect.gen(function* () {
        const { id } = yield* create({}, live)
        const { id: first } = yield* start({}, live)
        yield* runDue
        for (const waitMs of waitsMs) {
          const before = endpoints.sent.length
          yield* pass(waitMs - 1)
          yield* runDue
          assert.lengthOf(endpoints.sent, before)
          yield* pass(1)
          yield* runDue
          assert.lengthOf(endpoints.sent, before + 1)
        }
        assert.strictEqual((yield* only(id, live)).status, "failed")
        // One event per day, until five days have passed without a success.
        for (let day = 0; day < 5; day++) {
          yield* pass(dayMs)
          yield* start({}, live)
          yield* runDue
        }
        assert.strictEqual((yield* health(id, live)).state, "disabled")
        const before = endpoints.sent.length
        yield* start({}, live)
        yield* pass(30 * dayMs)
        yield* runDue
        assert.lengthOf(endpoints.sent, before)
        const attempts = endpoints.sent.filter(({ request }) => request.body.includes(first))
        assert.lengthOf(attempts, 1 + waitsMs.length)
      }),
    { send: () => answered(503) },
    { carriers }
  )
})

const idOf = ({ request }: Sent) => request.headers["webhook-id"] ?? ""

/** With as many carriers, a request has so many events that few requests are enough. */
const many = Array.from({ length: 12 }, (_, nth) => prompt(`carrier ${nth}`).adapter)

describe("an endpoint that recovers after 10,000 failed attempts", () => {
  const endpoint = { isUp: false, confirmed: [] as string[] }
  const eventTypes = ["queued", "updated", "completed"].map((type) => `quote_request.${type}`)
  testWebhooks(
    "gets every waiting delivery once, on schedule and without a burst",
    (endpoints) =>
      Effect.gen(function* () {
        const { id } = yield* create({ event_types: [...eventTypes, "quote.created"] }, live)
        yield* work
        for (let nth = 0; nth < 200; nth++) yield* start({}, live)
        // Each is attempted, and retried once after five seconds.
        while (endpoints.sent.length < 10_000) yield* pass(1_000)
        const backAt = yield* Clock.currentTimeMillis
        const before = endpoints.sent.length
        endpoint.isUp = true
        const tries = Map.groupBy(endpoints.sent, idOf)
        assert.isAtLeast(tries.size, 5_000)
        for (let passedS = 0; passedS < 600 && endpoint.confirmed.length < tries.size; passedS++) yield* pass(1_000)
        for (let minute = 0; minute < 3; minute++) yield* pass(minuteMs)
        assert.sameMembers(endpoint.confirmed, [...tries.keys()])
        assert.isAtMost(endpoints.most(url), 16)
        // Four retries at a time, each taking 20 ms.
        const inFirstSecond = endpoints.sent.slice(before).filter(({ at }) => at < backAt + 1_000)
        assert.isAtMost(inFirstSecond.length, 4 * 50 + 16)
        for (const all of Map.groupBy(endpoints.sent, idOf).values()) {
          for (const [step, { at }] of all.entries()) {
            const last = all[step - 1]
            if (last !== undefined) assert.isAtLeast(at - last.at, (waitsMs[step - 1] ?? 0) + 20)
          }
        }
        const { deliveries: newest } = yield* deliveries(id, { limit: 100 }, live)
        for (const { status } of newest) assert.strictEqual(status, "succeeded")
        assert.strictEqual((yield* health(id, live)).state, "healthy")
      }),
    {
      send: ({ headers }) => {
        if (!endpoint.isUp) return answered(500, 20)
        endpoint.confirmed.push(headers["webhook-id"] ?? "")
        return confirmed
      },
      send_takes_ms: () => 20
    },
    { carriers: many }
  )
})
