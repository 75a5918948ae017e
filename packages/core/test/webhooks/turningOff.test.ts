import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { Runner } from "../../src/runner/Runner.ts"
import { advance, pass, refusal, reset, runDue, start, work } from "../support/world.ts"
import {
  answered,
  confirmed,
  create,
  disable,
  health,
  list,
  log,
  only,
  replay,
  sendTest,
  silence,
  testScripted,
  testWebhooks,
  update,
  url
} from "./support.ts"

const live = { environment: "live" } as const
const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

const failing = { send: () => answered(500) }
const startWaiting = start({ scenario: "waits_in_queue" })

describe("five days of failures", () => {
  testWebhooks(
    "turn delivery off and cancel pending deliveries, until the url is set again",
    (endpoints) =>
      Effect.gen(function* () {
        const { id } = yield* create()
        for (let days = 0; days < 5; days++) {
          yield* startWaiting
          yield* runDue
          yield* advance(86_399)
          yield* runDue
          assert.isTrue((yield* list()).event_subscriptions[0]?.delivery_enabled)
        }
        assert.strictEqual((yield* health(id)).state, "failing")
        yield* advance(5)
        yield* startWaiting
        yield* startWaiting
        assert.strictEqual((yield* log(id))[0]?.status, "pending")
        yield* runDue
        const [subscription] = (yield* list()).event_subscriptions
        assert.deepStrictEqual([subscription?.status, subscription?.delivery_enabled], ["active", false])
        const { state, reason, last_attempt } = yield* health(id)
        assert.strictEqual(state, "disabled")
        assert.include(reason, "five days")
        assert.strictEqual(last_attempt?.response_status_code, 500)
        const statuses = (yield* log(id)).map(({ status, next_attempt_at }) => [status, next_attempt_at])
        assert.deepStrictEqual(statuses.slice(0, 2), [
          ["cancelled", null],
          ["cancelled", null]
        ])
        for (const [status] of statuses.slice(2)) assert.include(["cancelled", "failed"], status)
        // Nothing is sent there anymore: no event, no retry, no test, no replay.
        const count = endpoints.sent.length
        yield* startWaiting
        yield* advance(86_400)
        yield* runDue
        assert.lengthOf(endpoints.sent, count)
        assert.lengthOf(yield* log(id), statuses.length)
        const eventId = (yield* log(id))[0]?.event_id ?? ""
        for (const error of [yield* refusal(sendTest(id)), yield* refusal(replay(id, eventId))]) {
          assert.deepStrictEqual([error._tag, error.status, error.retry_action], ["conflict", 409, "none"])
        }
        yield* update(id, { event_types: ["quote_request.queued", "quote.created"] })
        assert.isFalse((yield* list()).event_subscriptions[0]?.delivery_enabled)
        const changed = yield* update(id, { url })
        assert.isTrue(changed.delivery_enabled)
        assert.strictEqual((yield* health(id)).state, "failing")
        yield* startWaiting
        yield* runDue
        assert.lengthOf(endpoints.sent, count + 1)
        assert.strictEqual((yield* log(id))[0]?.status, "retrying")
        // The failures are counted from zero again.
        assert.isTrue((yield* list()).event_subscriptions[0]?.delivery_enabled)
      }),
    failing
  )

  testWebhooks(
    "are cleared by a sandbox reset, which turns delivery on again",
    () =>
      Effect.gen(function* () {
        const { id } = yield* create()
        for (let days = 0; days < 7; days++) {
          yield* startWaiting
          yield* runDue
          yield* advance(86_400)
        }
        assert.isFalse((yield* list()).event_subscriptions[0]?.delivery_enabled)
        yield* reset()
        assert.isTrue((yield* list()).event_subscriptions[0]?.delivery_enabled)
        yield* startWaiting
        yield* runDue
        assert.strictEqual((yield* health(id)).state, "failing")
        assert.strictEqual((yield* log(id))[0]?.status, "retrying")
      }),
    failing
  )

  testWebhooks(
    "are counted from the first failure after the last success",
    () =>
      Effect.gen(function* () {
        const { id } = yield* create()
        const enabled = Effect.map(list(), (page) => page.event_subscriptions[0]?.delivery_enabled)
        yield* startWaiting
        yield* runDue
        // The second attempt, after five seconds, succeeds; the next event always fails.
        yield* advance(5)
        yield* runDue
        assert.strictEqual((yield* only(id)).status, "succeeded")
        yield* advance(86_400)
        yield* startWaiting
        yield* runDue
        yield* advance(5 * 86_400 - 1)
        yield* startWaiting
        yield* runDue
        assert.isTrue(yield* enabled)
        yield* advance(1)
        yield* startWaiting
        yield* runDue
        assert.isFalse(yield* enabled)
      }),
    { send: (_, nth) => (nth === 2 ? confirmed : answered(500)) }
  )

  testScripted("include manual attempts, and start over after a successful test event", () => {
    const endpoint = { isUp: false }
    return {
      script: { send: () => (endpoint.isUp ? confirmed : answered(500)) },
      body: (endpoints) =>
        Effect.gen(function* () {
          const { id } = yield* create({}, live)
          yield* start({}, live)
          yield* runDue
          yield* pass(4 * day)
          endpoint.isUp = true
          yield* sendTest(id, live)
          yield* runDue
          endpoint.isUp = false
          assert.strictEqual((yield* health(id, live)).state, "healthy")
          yield* pass(2 * day)
          yield* start({}, live)
          yield* runDue
          assert.isTrue((yield* list({}, live)).event_subscriptions[0]?.delivery_enabled)
          yield* pass(5 * day)
          yield* sendTest(id, live)
          const count = endpoints.sent.length
          yield* runDue
          assert.isAbove(endpoints.sent.length, count)
          assert.isFalse((yield* list({}, live)).event_subscriptions[0]?.delivery_enabled)
        })
    }
  })
})

describe("turning delivery off", () => {
  testScripted("cancels earlier deliveries, but not deliveries created after delivery is turned on again", () => {
    const worker = { isBehind: true }
    return {
      script: failing,
      around: (storage) => ({
        ...storage,
        claim: (query) =>
          Effect.gen(function* () {
            const claim = yield* storage.claim(query)
            const isLate = ({ kind, payload }: { readonly kind: string; readonly payload: string }) =>
              worker.isBehind &&
              (kind === "cancel_deliveries" || (kind === "deliver" && payload.includes('"schedule_step":2')))
            yield* storage.release(claim.jobs.filter(isLate))
            return { ...claim, jobs: claim.jobs.filter((job) => !isLate(job)) }
          })
      }),
      body: () =>
        Effect.gen(function* () {
          const { id } = yield* create()
          yield* startWaiting
          yield* runDue
          yield* advance(5 * 86_400)
          yield* startWaiting
          yield* runDue
          const before = yield* log(id)
          assert.isFalse((yield* list()).event_subscriptions[0]?.delivery_enabled)
          yield* advance(1)
          yield* update(id, { url })
          yield* startWaiting
          worker.isBehind = false
          yield* runDue
          const statuses = (yield* log(id)).map(({ status }) => status)
          assert.lengthOf(before, 2)
          assert.deepStrictEqual(statuses, ["retrying", "cancelled", "cancelled"])
        })
    }
  })
})

describe("disabling a subscription", () => {
  testWebhooks(
    "cancels pending and retrying deliveries immediately",
    (endpoints) =>
      Effect.gen(function* () {
        const { id } = yield* create()
        const other = yield* create()
        yield* startWaiting
        yield* runDue
        yield* startWaiting
        assert.deepStrictEqual(
          (yield* log(id)).map(({ status }) => status),
          ["pending", "retrying"]
        )
        yield* disable(id)
        assert.deepStrictEqual(
          (yield* log(id)).map(({ status, next_attempt_at }) => [status, next_attempt_at]),
          [
            ["cancelled", null],
            ["cancelled", null]
          ]
        )
        assert.strictEqual((yield* health(id)).state, "disabled")
        yield* startWaiting
        yield* runDue
        yield* advance(86_400)
        yield* runDue
        assert.lengthOf(yield* log(id), 2)
        assert.lengthOf(yield* log(other.id), 3)
        assert.lengthOf(new Set(endpoints.sent.map(({ request }) => request.headers["webhook-id"])), 3)
      }),
    failing
  )

  for (const outcome of ["succeeds", "fails"] as const) {
    testWebhooks(
      `records a running attempt that ${outcome}, but starts no new attempt`,
      (endpoints) =>
        Effect.gen(function* () {
          const { id } = yield* create({}, live)
          yield* start({}, live)
          yield* work
          yield* pass(1_000)
          assert.lengthOf(endpoints.sent, 1)
          assert.strictEqual((yield* only(id, live)).status, "pending")
          yield* disable(id, live)
          assert.strictEqual((yield* only(id, live)).status, "cancelled")
          yield* pass(10_000)
          const { status, attempts, next_attempt_at } = yield* only(id, live)
          assert.deepStrictEqual([status, next_attempt_at], ["cancelled", null])
          assert.deepStrictEqual(
            attempts.map((attempt) => attempt.status),
            [outcome === "succeeds" ? "succeeded" : "failed"]
          )
          yield* pass(10 * minute)
          assert.lengthOf(endpoints.sent, 1)
        }),
      {
        send: () => (outcome === "succeeds" ? confirmed : silence),
        send_takes_ms: () => 5_000
      }
    )
  }

  testWebhooks(
    "prevents later attempts, even during an attempt's commit",
    (endpoints) =>
      Effect.gen(function* () {
        // Many, so that the cancellation meets attempts in every stage.
        for (let round = 0; round < 30; round++) {
          const { id } = yield* create({}, live)
          for (let i = 0; i < 3; i++) yield* start({}, live)
          const { runDue } = yield* Runner
          const running = yield* Effect.forkChild(runDue())
          for (let turn = 0; turn < round; turn++) yield* Effect.yieldNow
          yield* disable(id, live)
          yield* Fiber.join(running)
          yield* runDue()
          for (const { status } of yield* log(id, live)) assert.include(["cancelled"], status)
        }
        const count = endpoints.sent.length
        yield* pass(day)
        yield* runDue
        assert.lengthOf(endpoints.sent, count)
      }),
    failing,
    {
      around: (storage) => ({
        ...storage,
        commit: (change) => Effect.andThen(Effect.yieldNow, storage.commit(change)),
        page: (query) => Effect.tap(storage.page(query), () => Effect.yieldNow)
      })
    }
  )
})
