import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { advance, feed, pass, refusal, reset, runDue, start, work } from "../support/world.ts"
import {
  answered,
  create,
  deliveries,
  disable,
  health,
  log,
  only,
  replay,
  rotate,
  stored,
  testScripted,
  testWebhooks
} from "./support.ts"

const live = { environment: "live" } as const

const failing = { send: () => answered(500) }
const startWaiting = start({ scenario: "waits_in_queue" })

describe("a host", () => {
  testWebhooks(
    "causes a second, identical send if it dies between an attempt and the attempt's commit",
    (endpoints) =>
      Effect.gen(function* () {
        const { id } = yield* create({}, live)
        yield* start({}, live)
        yield* runDue
        assert.lengthOf(endpoints.sent, 1)
        assert.strictEqual((yield* only(id, live)).status, "pending")
        yield* pass(29_999)
        yield* runDue
        assert.lengthOf(endpoints.sent, 1)
        yield* pass(1)
        yield* runDue
        const [first, second] = endpoints.sent
        assert.lengthOf(endpoints.sent, 2)
        assert.strictEqual(second?.request.body, first?.request.body)
        assert.strictEqual(second?.request.headers["webhook-id"], first?.request.headers["webhook-id"])
        const { status, attempts } = yield* only(id, live)
        assert.deepStrictEqual([status, attempts.length], ["succeeded", 1])
      }),
    {},
    {
      around: (storage) => {
        let died = false
        return {
          ...storage,
          commit: (change) => {
            const isOutcome = change.finishes.length > 0 && change.writes.some(({ kind }) => kind === "endpoint_health")
            if (!isOutcome || died) return storage.commit(change)
            died = true
            return Effect.die(new Error("the host dies on purpose"))
          }
        }
      }
    }
  )

  testScripted("leaves a failed delivery that can be replayed if it dies repeatedly", () => {
    const host = { isWell: false }
    return {
      around: (storage) => ({
        ...storage,
        commit: (change) =>
          host.isWell || change.finishes.length === 0 || !change.writes.some(({ kind }) => kind === "endpoint_health")
            ? storage.commit(change)
            : Effect.die(new Error("the host dies on purpose"))
      }),
      body: (endpoints) =>
        Effect.gen(function* () {
          const { id } = yield* create({}, live)
          yield* start({}, live)
          for (let i = 0; i < 7; i++) {
            yield* runDue
            yield* pass(30_000)
          }
          const { status, event_id, attempts } = yield* only(id, live)
          assert.deepStrictEqual([status, attempts], ["failed", []])
          assert.lengthOf(endpoints.sent, 5)
          host.isWell = true
          yield* replay(id, event_id, live)
          yield* runDue
          assert.strictEqual((yield* only(id, live)).status, "succeeded")
        })
    }
  })
})

describe("a host that dies while it disables a subscription", () => {
  testScripted("leaves the remaining work to another host", () => {
    const host = { isDying: false }
    return {
      script: failing,
      around: (storage) => ({
        ...storage,
        page: (query) =>
          host.isDying && query.kind === "delivery"
            ? Effect.die(new Error("the host dies on purpose"))
            : storage.page(query)
      }),
      body: (endpoints) =>
        Effect.gen(function* () {
          const { id } = yield* create()
          for (let i = 0; i < 3; i++) yield* startWaiting
          yield* runDue
          host.isDying = true
          assert.strictEqual((yield* refusal(disable(id)))._tag, "internal_error")
          host.isDying = false
          assert.strictEqual((yield* health(id)).state, "disabled")
          assert.strictEqual((yield* log(id))[0]?.status, "retrying")
          yield* runDue
          for (const { status } of yield* log(id)) assert.strictEqual(status, "cancelled")
          assert.lengthOf(endpoints.sent, 3)
        })
    }
  })
})

describe("a commit conflict", () => {
  testScripted("never causes a second send after an attempt", () => {
    const conflicts = { left: 60 }
    return {
      around: (storage) => ({
        ...storage,
        commit: (change) => {
          if (!change.writes.some(({ kind }) => kind === "endpoint_health") || conflicts.left === 0) {
            return storage.commit(change)
          }
          conflicts.left--
          // Another writer is faster: this version is already stored.
          return storage.commit({ ...change, writes: change.writes.map((write) => ({ ...write, version: 99 })) })
        }
      }),
      body: (endpoints) =>
        Effect.gen(function* () {
          const { id } = yield* create({}, live)
          yield* start({}, live)
          yield* runDue
          assert.strictEqual(conflicts.left, 0)
          assert.lengthOf(endpoints.sent, 1)
          assert.lengthOf((yield* only(id, live)).attempts, 1)
        })
    }
  })

  testWebhooks(
    "loses no attempt if several attempts to one subscription run concurrently",
    (endpoints) =>
      Effect.gen(function* () {
        const { id } = yield* create({}, live)
        for (let i = 0; i < 40; i++) yield* start({}, live)
        yield* work
        yield* pass(10_000)
        assert.lengthOf(endpoints.sent, 40)
        for (const { status, attempts } of yield* log(id, live)) {
          assert.deepStrictEqual([status, attempts.length], ["succeeded", 1])
        }
      }),
    { send_takes_ms: (nth) => (nth % 5) * 100 }
  )
})

describe("a sandbox reset", () => {
  testWebhooks(
    "removes and counts deliveries and pending attempts",
    (endpoints) =>
      Effect.gen(function* () {
        const { id } = yield* create()
        yield* rotate(id)
        for (let i = 0; i < 4; i++) yield* startWaiting
        yield* runDue
        const before = yield* log(id)
        const { next_cursor } = yield* pageOf(id, 2)
        const { removed } = yield* reset()
        assert.strictEqual(removed?.deliveries, 4)
        assert.isAtLeast(removed?.scheduled ?? 0, 4)
        assert.deepStrictEqual(yield* log(id), [])
        const old = yield* pageOf(id, 2, next_cursor)
        assert.deepStrictEqual(old, { deliveries: [], next_cursor: null })
        assert.strictEqual((yield* refusal(replay(id, before[0]?.event_id ?? "")))._tag, "not_found")
        assert.strictEqual((yield* health(id)).state, "healthy")
        assert.isNull((yield* health(id)).last_attempt)
        const count = endpoints.sent.length
        yield* advance(86_400)
        yield* runDue
        assert.lengthOf(endpoints.sent, count)
        yield* startWaiting
        assert.lengthOf(yield* log(id), 1)
        assert.lengthOf((yield* pageOf(id, 2, next_cursor)).deliveries, 0)
      }),
    failing
  )

  testWebhooks(
    "drops an unfinished create call, and turns delivery on again",
    () =>
      Effect.gen(function* () {
        const { id } = yield* create()
        yield* startWaiting
        yield* runDue
        yield* advance(5 * 86_400)
        yield* startWaiting
        yield* runDue
        assert.strictEqual((yield* health(id)).state, "disabled")
        yield* refusal(create({}, { idempotency_key: "one" }))
        yield* reset()
        assert.deepStrictEqual([(yield* health(id)).state, (yield* health(id)).last_attempt], ["healthy", null])
        const late = yield* refusal(create({}, { idempotency_key: "one" }))
        assert.deepStrictEqual([late._tag, late.retry_action], ["conflict", "use_new_request_key"])
        yield* startWaiting
        yield* runDue
        assert.strictEqual((yield* only(id)).status, "retrying")
      }),
    { ...failing, lookUp: (_, nth) => (nth === 2 ? "unavailable" : "public") }
  )

  testWebhooks(
    "leaves no trace of a running attempt",
    () =>
      Effect.gen(function* () {
        const { id } = yield* create()
        yield* startWaiting
        yield* work
        yield* TestClock.adjust(2_000)
        yield* reset()
        yield* pass(60_000)
        assert.deepStrictEqual(yield* log(id), [])
        assert.deepStrictEqual(
          (yield* stored).filter(({ kind }) => kind === "delivery" || kind === "endpoint_health"),
          []
        )
        assert.lengthOf(yield* feed(), 0)
      }),
    { send_takes_ms: () => 5_000 }
  )
})

const pageOf = (id: string, limit: number, cursor?: string | null) =>
  deliveries(id, { limit, ...(typeof cursor === "string" && { cursor }) })

describe("a commit conflict that never ends", () => {
  testScripted("makes a reset fail with an internal error instead of hanging", () => {
    const conflict = { isEndless: false }
    return {
      around: (storage) => ({
        ...storage,
        commit: (change) =>
          conflict.isEndless && change.writes.some(({ kind }) => kind === "subscription")
            ? storage.commit({ ...change, writes: change.writes.map((write) => ({ ...write, version: 99 })) })
            : storage.commit(change)
      }),
      body: () =>
        Effect.gen(function* () {
          const { id } = yield* create()
          conflict.isEndless = true
          assert.strictEqual((yield* refusal(reset()))._tag, "internal_error")
          conflict.isEndless = false
          yield* reset()
          assert.strictEqual((yield* health(id)).state, "healthy")
        })
    }
  })
})
