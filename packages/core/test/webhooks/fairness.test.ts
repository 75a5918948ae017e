import { assert, describe } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { Access } from "../../src/access/Access.ts"
import type { SendOutcome } from "../../src/webhooks/WebhookSender.ts"
import { pass, runDue, start, work } from "../support/world.ts"
import {
  answered,
  confirmed,
  create,
  delivery,
  disable,
  health,
  log,
  only,
  replay,
  sendTest,
  silence,
  testScripted,
  testWebhooks,
  url
} from "./support.ts"

const live = { environment: "live" } as const
const noConnection: SendOutcome = { response_status_code: null, duration_ms: 15_000, failure: "busy" }
const isSlow = (address: string) => address.includes("slow")

describe("a slow endpoint", () => {
  testWebhooks(
    "receives at most sixteen concurrent attempts, however many deliveries wait",
    (endpoints) =>
      Effect.gen(function* () {
        const { id } = yield* create({}, live)
        for (let i = 0; i < 60; i++) yield* start({}, live)
        yield* work
        // Retries come on top of new events.
        for (let i = 0; i < 40; i++) {
          yield* start({}, live)
          yield* pass(5_000)
        }
        assert.isAtMost(endpoints.most(url), 16)
        assert.isAtLeast(endpoints.most(url), 12)
        assert.lengthOf(yield* log(id, live), 100)
      }),
    { send: () => answered(500), send_takes_ms: () => 14_000 }
  )

  testWebhooks(
    "receives new events before the retries of older events",
    (endpoints) =>
      Effect.gen(function* () {
        const { id } = yield* create({}, live)
        yield* work
        for (let i = 0; i < 16; i++) yield* start({}, live)
        yield* pass(36_000)
        // By now each was tried once, and more retries are due than may run.
        const ids = new Set(endpoints.sent.map(({ request }) => request.headers["webhook-id"]))
        assert.strictEqual(ids.size, 16)
        const count = endpoints.sent.length
        yield* start({}, live)
        yield* pass(100)
        const fresh = endpoints.sent.slice(count).map(({ request }) => request.headers["webhook-id"])
        assert.deepStrictEqual(fresh, [(yield* log(id, live))[0]?.event_id])
      }),
    { send: () => answered(500), send_takes_ms: () => 14_000 }
  )
})

describe("an endpoint that hangs", () => {
  testScripted("receives at most three concurrent attempts until it responds again, then all waiting events", () => {
    const endpoint = { isUp: false }
    return {
      script: {
        send: () => (endpoint.isUp ? confirmed : silence),
        send_takes_ms: () => (endpoint.isUp ? 20 : 15_000)
      },
      body: (endpoints) =>
        Effect.gen(function* () {
          const { id } = yield* create({}, live)
          yield* work
          for (let i = 0; i < 40; i++) yield* start({}, live)
          yield* pass(15_000)
          const first = endpoints.sent.length
          assert.isAtMost(first, 16)
          // After the first three timeouts: two new attempts and one retry every fifteen seconds.
          yield* pass(150_000)
          assert.isAtMost(endpoints.sent.length - first, 11 * 3 + 8)
          assert.isAbove(endpoints.sent.length - first, 10)
          // Manual tests and replays are sent immediately.
          const before = endpoints.sent.length
          const { event } = yield* sendTest(id, live)
          yield* pass(10)
          assert.include(
            endpoints.sent.slice(before).map(({ request }) => request.headers["webhook-id"]),
            event.id
          )
          endpoint.isUp = true
          yield* pass(30_000)
          const fresh = yield* start({}, live)
          yield* pass(100)
          assert.include(endpoints.sent.at(-1)?.request.body ?? "", fresh.id)
          yield* pass(400_000)
          for (const { status } of yield* log(id, live)) assert.strictEqual(status, "succeeded")
        })
    }
  })
})

describe("an attempt without a free connection", () => {
  testWebhooks(
    "is postponed, and does not appear in the delivery or the endpoint's health",
    (endpoints) =>
      Effect.gen(function* () {
        const { id } = yield* create({}, live)
        yield* start({}, live)
        yield* runDue
        assert.lengthOf(endpoints.sent, 1)
        const waiting = yield* only(id, live)
        assert.deepStrictEqual(
          [waiting.status, waiting.next_attempt_at, waiting.attempts],
          ["pending", "2026-11-20T12:00:20.000Z", []]
        )
        assert.isNull((yield* health(id, live)).last_attempt)
        yield* pass(20_000)
        yield* runDue
        assert.strictEqual((yield* only(id, live)).next_attempt_at, "2026-11-20T12:00:45.000Z")
        yield* pass(25_000)
        yield* runDue
        const { status, attempts } = yield* only(id, live)
        assert.deepStrictEqual([status, attempts.map(({ trigger }) => trigger)], ["succeeded", ["scheduled"]])
      }),
    { send: (_, nth) => (nth < 3 ? noConnection : confirmed) }
  )

  testWebhooks(
    "is postponed at most a hundred times before its delivery fails",
    (endpoints) =>
      Effect.gen(function* () {
        const { id } = yield* create({}, live)
        yield* start({}, live)
        for (let minutes = 0; minutes < 10 * 60; minutes++) {
          yield* runDue
          yield* pass(60_000)
        }
        const { status, attempts, event_id } = yield* only(id, live)
        assert.deepStrictEqual([status, attempts], ["failed", []])
        assert.strictEqual((yield* health(id, live)).state, "healthy")
        assert.lengthOf(endpoints.sent, 101)
        yield* replay(id, event_id, live)
        yield* runDue
        assert.isNotNull((yield* only(id, live)).next_attempt_at)
      }),
    { send: () => noConnection }
  )

  testScripted("is cancelled when its subscription is disabled", () => {
    const host = { isFull: true }
    return {
      script: { send: () => (host.isFull ? noConnection : confirmed) },
      body: (endpoints) =>
        Effect.gen(function* () {
          const { id } = yield* create({}, live)
          const other = yield* create({}, live)
          const { event } = yield* sendTest(id, live)
          yield* start({}, live)
          yield* runDue
          yield* disable(other.id, live)
          const sent = endpoints.sent.length
          host.isFull = false
          yield* pass(60_000)
          yield* runDue
          assert.lengthOf(endpoints.sent, sent + 2)
          const { status, attempts } = yield* delivery(id, event.id, live)
          assert.deepStrictEqual([status, attempts.map(({ trigger }) => trigger)], ["succeeded", ["manual"]])
          assert.strictEqual((yield* only(other.id, live)).status, "cancelled")
        })
    }
  })
})

describe("new events", () => {
  testWebhooks(
    "are delivered before retries that were due earlier",
    (endpoints) =>
      Effect.gen(function* () {
        const { id } = yield* create({}, live)
        for (let i = 0; i < 3; i++) yield* start({}, live)
        yield* runDue
        yield* pass(25_000)
        for (let i = 0; i < 3; i++) yield* start({}, live)
        const count = endpoints.sent.length
        yield* runDue
        const ids = (yield* log(id, live)).map(({ event_id }) => event_id).toReversed()
        assert.deepStrictEqual(
          endpoints.sent.slice(count).map(({ request }) => request.headers["webhook-id"]),
          [...ids.slice(3), ...ids.slice(0, 3)]
        )
      }),
    { send: () => answered(500) }
  )
})

describe("endpoints that hang", () => {
  testWebhooks(
    "do not delay other endpoints, even if half of all endpoints hang",
    (endpoints) =>
      Effect.gen(function* () {
        const access = yield* Access
        const keys: Array<string> = []
        for (let i = 0; i < 8; i++) {
          const { id: organization_id } = yield* access.createOrganization(`Organization ${i}`)
          const { key } = yield* access.createKey({ organization_id, environment: "live", kind: "server" })
          keys.push(key)
          for (let place = 0; place < 10; place++) {
            const name = `${place % 2 === 0 ? "slow" : "quick"}-${i}-${place}`
            yield* create({ url: `https://${name}.acme.dev/` }, { key })
          }
        }
        yield* work
        const took: Array<number> = []
        for (let round = 0; round < 20; round++) {
          const began = endpoints.sent.length
          const at = yield* Clock.currentTimeMillis
          for (const key of keys) yield* start({}, { key })
          yield* pass(3_000)
          const quick = endpoints.sent.slice(began).filter(({ request }) => !isSlow(request.url))
          assert.lengthOf(quick, 40)
          took.push(...quick.map((sent) => sent.at - at))
        }
        assert.isAtMost(Math.max(...took), 10)
        const slow = endpoints.sent.filter(({ request }) => isSlow(request.url))
        for (const { request } of slow) assert.isAtMost(endpoints.most(request.url), 16)
        assert.isAbove(slow.length, 40 * 11)
      }),
    {
      send: ({ url }) => (isSlow(url) ? silence : confirmed),
      send_takes_ms: (_, { url }) => (isSlow(url) ? 15_000 : 20)
    }
  )
})
