import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { Access } from "../../src/access/Access.ts"
import { noLimits } from "../../src/access/limits/Allowance.ts"
import { advance, beginning, feed, pass, refusal, runDue, start, stranger } from "../support/world.ts"
import {
  answered,
  bodyOf,
  confirmed,
  create,
  deliveries,
  disable,
  health,
  log,
  only,
  replay,
  sendTest,
  stored,
  testScripted,
  testWebhooks,
  url
} from "./support.ts"

const key = (idempotency_key: string) => ({ idempotency_key })
const day = 86_400_000
const startWaiting = start({ scenario: "waits_in_queue" })
const isDelivery = ({ kind }: { readonly kind: string }) => kind === "delivery"

describe("a test event", () => {
  testWebhooks("goes to one subscription only, signed like any other event, and is not in the feed", (endpoints) =>
    Effect.gen(function* () {
      const { id } = yield* create({ url: `${url}/one` })
      const other = yield* create({ url: `${url}/other` })
      const { subscription_id, event } = yield* sendTest(id)
      assert.strictEqual(subscription_id, id)
      assert.match(event.id, /^evt_test[0-9a-z]{26}$/)
      assert.deepStrictEqual(event, {
        id: event.id,
        type: "webhook.test",
        schema_version: "2026-09-26",
        occurred_at: "2026-11-20T12:00:00.000Z",
        environment: "sandbox",
        subscription_id: id
      })
      assert.strictEqual((yield* only(id)).status, "pending")
      yield* runDue
      assert.deepStrictEqual(
        endpoints.sent.map(({ request }) => request.url),
        [`${url}/one`]
      )
      const sent = endpoints.sent[0] ?? assert.fail("nothing was sent")
      assert.deepStrictEqual(bodyOf(sent), event)
      assert.strictEqual(sent.request.headers["webhook-id"], event.id)
      const { event_id, event_type, status, attempts } = yield* only(id)
      assert.deepStrictEqual([event_id, event_type, status], [event.id, "webhook.test", "succeeded"])
      assert.strictEqual(attempts[0]?.trigger, "manual")
      assert.deepStrictEqual(yield* log(other.id), [])
      assert.deepStrictEqual(yield* feed(), [])
    })
  )

  testWebhooks(
    "is retried on schedule, and its retries are recorded as scheduled attempts",
    () =>
      Effect.gen(function* () {
        const { id } = yield* create()
        yield* sendTest(id)
        yield* runDue
        yield* advance(5)
        yield* runDue
        const { status, attempts } = yield* only(id)
        assert.strictEqual(status, "succeeded")
        assert.deepStrictEqual(
          attempts.map(({ trigger }) => trigger),
          ["scheduled", "manual"]
        )
      }),
    { send: (_, nth) => (nth === 1 ? answered(500) : confirmed) }
  )

  testWebhooks("is sent only once if the call is repeated with the same key", (endpoints) =>
    Effect.gen(function* () {
      const { id } = yield* create()
      const other = yield* create()
      const first = yield* sendTest(id, key("one"))
      assert.deepStrictEqual(yield* sendTest(id, key("one")), first)
      assert.notStrictEqual((yield* sendTest(id, key("two"))).event.id, first.event.id)
      assert.strictEqual((yield* refusal(sendTest(other.id, key("one")))).retry_action, "use_new_request_key")
      yield* runDue
      assert.lengthOf(endpoints.sent, 2)
    })
  )

  testWebhooks("can be sent to a subscription at most ten times a minute", () =>
    Effect.gen(function* () {
      const { id } = yield* create()
      const other = yield* create()
      for (let i = 0; i < 10; i++) {
        yield* sendTest(id)
        yield* pass(2_500)
      }
      const error = yield* refusal(sendTest(id, key("late")))
      assert.deepStrictEqual([error._tag, error.status, error.retry_after_seconds], ["rate_limited", 429, 35])
      assert.include(error.message, "10 tests per subscription per minute")
      yield* sendTest(other.id)
      // Real time counts, not the sandbox's.
      yield* advance(3_600)
      assert.strictEqual((yield* refusal(sendTest(id, key("late"))))._tag, "rate_limited")
      yield* pass(34_999)
      assert.strictEqual((yield* refusal(sendTest(id, key("late")))).retry_after_seconds, 1)
      yield* pass(1)
      yield* sendTest(id, key("late"))
      assert.strictEqual((yield* refusal(sendTest(id))).retry_after_seconds, 3)
    })
  )

  testWebhooks(
    "is refused without counting toward the limit if the host is not resolvable or not public",
    () =>
      Effect.gen(function* () {
        const { id } = yield* create()
        for (let i = 0; i < 20; i++) {
          const error = yield* refusal(sendTest(id, key("one")))
          assert.deepStrictEqual([error._tag, error.retry_after_seconds], ["service_unavailable", 5])
        }
        const refused = yield* refusal(sendTest(id, key("one")))
        assert.deepStrictEqual([refused._tag, refused.status, refused.retry_action], ["conflict", 409, "none"])
        for (let i = 0; i < 10; i++) yield* sendTest(id, key(i === 0 ? "one" : `more-${i}`))
        assert.lengthOf(yield* log(id), 10)
      }),
    { lookUp: (_, nth) => (nth === 1 || nth > 22 ? "public" : nth === 22 ? "refused" : "unavailable") }
  )
})

describe("a replay", () => {
  testWebhooks("resends the same bytes with the same id immediately, as a manual attempt", (endpoints) =>
    Effect.gen(function* () {
      const { id } = yield* create()
      yield* startWaiting
      yield* runDue
      const { event_id } = yield* only(id)
      yield* advance(3_600)
      assert.deepStrictEqual(yield* replay(id, event_id), { subscription_id: id, event_id })
      const pending = yield* only(id)
      assert.deepStrictEqual([pending.status, pending.next_attempt_at], ["pending", "2026-11-20T13:00:00.000Z"])
      assert.strictEqual(pending.created_at, "2026-11-20T12:00:00.000Z")
      yield* runDue
      const [first, second] = endpoints.sent
      assert.strictEqual(second?.request.body, first?.request.body)
      assert.strictEqual(second?.request.headers["webhook-id"], event_id)
      const { status, attempts } = yield* only(id)
      assert.strictEqual(status, "succeeded")
      assert.deepStrictEqual(
        attempts.map(({ trigger, attempted_at }) => [trigger, attempted_at]),
        [
          ["manual", "2026-11-20T13:00:00.000Z"],
          ["scheduled", "2026-11-20T12:00:00.000Z"]
        ]
      )
    })
  )

  testWebhooks(
    "restarts the schedule of a delivery that failed or is being retried",
    (endpoints) =>
      Effect.gen(function* () {
        const { id } = yield* create()
        yield* startWaiting
        yield* runDue
        yield* advance(28 * 3_600)
        yield* runDue
        assert.strictEqual((yield* only(id)).status, "failed")
        assert.lengthOf(endpoints.sent, 8)
        const { event_id } = yield* only(id)
        yield* replay(id, event_id)
        yield* runDue
        assert.strictEqual((yield* only(id)).status, "retrying")
        yield* advance(5)
        yield* runDue
        assert.lengthOf(endpoints.sent, 10)
        // The replay has replaced the retry that was due in five minutes.
        yield* advance(60)
        yield* replay(id, event_id)
        yield* runDue
        assert.lengthOf(endpoints.sent, 11)
        yield* advance(28 * 3_600)
        yield* runDue
        assert.lengthOf(endpoints.sent, 18)
        assert.strictEqual((yield* only(id)).status, "failed")
      }),
    { send: () => answered(500) }
  )

  testWebhooks("returns not_found for an event that is not in the subscription's log", () =>
    Effect.gen(function* () {
      const { id } = yield* create()
      const other = yield* create({ event_types: ["quote.created"] })
      yield* startWaiting
      const { event_id } = yield* only(id)
      const { sandbox } = yield* stranger
      for (const call of [
        replay(other.id, event_id),
        replay(id, "evt_x"),
        replay("sub_x", event_id),
        replay(id, event_id, { key: sandbox }),
        replay(id, event_id, { environment: "live" })
      ]) {
        assert.strictEqual((yield* refusal(call))._tag, "not_found")
      }
      assert.strictEqual((yield* refusal(replay(id, event_id, { as: "widget" })))._tag, "forbidden")
    })
  )

  testWebhooks("is refused for a cancelled delivery or a disabled subscription", () =>
    Effect.gen(function* () {
      const { id } = yield* create()
      yield* startWaiting
      yield* disable(id)
      const { event_id, status } = yield* only(id)
      assert.strictEqual(status, "cancelled")
      const errors = [yield* refusal(replay(id, event_id)), yield* refusal(sendTest(id))]
      for (const error of errors) assert.deepStrictEqual([error._tag, error.retry_action], ["conflict", "none"])
    })
  )

  testWebhooks("is limited to five a day per event", (endpoints) =>
    Effect.gen(function* () {
      const { id } = yield* create()
      yield* startWaiting
      const other = yield* startWaiting
      yield* runDue
      const [second, first] = yield* log(id)
      const eventId = first?.event_id ?? ""
      assert.isString(other.id)
      yield* replay(id, eventId, key("one"))
      for (let i = 0; i < 9; i++) yield* replay(id, eventId, key("one"))
      yield* pass(1_500)
      for (let i = 0; i < 4; i++) yield* replay(id, eventId)
      const error = yield* refusal(replay(id, eventId, key("sixth")))
      assert.deepStrictEqual([error._tag, error.status, error.retry_after_seconds], ["rate_limited", 429, 86_399])
      assert.include(error.message, "5 replays per event per day")
      yield* replay(id, second?.event_id ?? "")
      yield* advance(2 * 86_400)
      assert.strictEqual((yield* refusal(replay(id, eventId, key("sixth"))))._tag, "rate_limited")
      yield* pass(day - 1_500 - 1)
      assert.strictEqual((yield* refusal(replay(id, eventId, key("sixth")))).retry_after_seconds, 1)
      yield* pass(1)
      yield* replay(id, eventId, key("sixth"))
      yield* runDue
      assert.isAtLeast(endpoints.sent.length, 4)
    })
  )

  testWebhooks("is possible for a test event", (endpoints) =>
    Effect.gen(function* () {
      const { id } = yield* create()
      const { event } = yield* sendTest(id)
      yield* runDue
      yield* replay(id, event.id)
      yield* runDue
      assert.deepStrictEqual(endpoints.sent.map(bodyOf), [event, event])
    })
  )
})

describe("tests and replays", () => {
  const limits = { ...noLimits, tests_and_replays: { per_minute: 60, per_day: null } }
  testWebhooks(
    "share a limit of sixty a minute per organization, across both environments",
    () =>
      Effect.gen(function* () {
        const live = { environment: "live" } as const
        const ids = yield* Effect.forEach(Array.from({ length: 6 }), () => Effect.map(create(), ({ id }) => id))
        const { id: there } = yield* create({}, live)
        yield* startWaiting
        const eventId = (yield* log(ids[0] ?? ""))[0]?.event_id ?? ""
        yield* pass(12_345)
        yield* refusal(sendTest("sub_x"))
        for (const id of ids.slice(0, 5)) for (let i = 0; i < 10; i++) yield* sendTest(id)
        for (let i = 0; i < 5; i++) yield* replay(ids[0] ?? "", eventId)
        for (let i = 0; i < 5; i++) yield* sendTest(there, live)
        for (const call of [sendTest(ids[5] ?? "", key("over")), sendTest(there, { ...live, ...key("over") })]) {
          const error = yield* refusal(call)
          assert.deepStrictEqual([error._tag, error.status, error.retry_after_seconds], ["rate_limited", 429, 48])
          assert.include(error.message, "60 tests and replays per integration per minute")
        }
        assert.strictEqual((yield* refusal(replay(ids[1] ?? "", eventId)))._tag, "rate_limited")
        // Another integration has its own limit.
        const access = yield* Access
        const { id: organization_id } = yield* access.createOrganization("A stranger")
        const { key: other } = yield* access.createKey({ organization_id, environment: "sandbox", kind: "server" })
        yield* sendTest((yield* create({}, { key: other })).id, { key: other })
        yield* pass(47_655 - 1)
        assert.strictEqual((yield* refusal(sendTest(there, { ...live, ...key("over") }))).retry_after_seconds, 1)
        yield* pass(1)
        yield* sendTest(there, { ...live, ...key("over") })
        yield* sendTest(ids[5] ?? "", key("over"))
      }),
    {},
    { limits }
  )

  testScripted("count toward the limit only if they were queued", () => {
    const storage = { failing: false }
    return {
      limits,
      around: (inner) => ({
        ...inner,
        commit: (change) =>
          storage.failing && change.writes.some(isDelivery)
            ? Effect.die(new Error("storage fails on purpose"))
            : inner.commit(change)
      }),
      body: () =>
        Effect.gen(function* () {
          const { id } = yield* create()
          const ids = [id, ...(yield* Effect.forEach(Array.from({ length: 6 }), () => create())).map((made) => made.id)]
          storage.failing = true
          for (let i = 0; i < 70; i++) assert.strictEqual((yield* refusal(sendTest(id)))._tag, "internal_error")
          storage.failing = false
          for (const one of ids.slice(0, 6)) for (let i = 0; i < 10; i++) yield* sendTest(one)
          assert.strictEqual((yield* refusal(sendTest(ids[6] ?? "")))._tag, "rate_limited")
          assert.lengthOf((yield* stored).filter(isDelivery), 60)
        })
    }
  })
})

describe("a test or replay whose response was lost", () => {
  testScripted("is queued once when it is retried with its key", () => {
    const host = { isDying: false }
    return {
      around: (inner) => ({
        ...inner,
        commit: (change) =>
          host.isDying && change.writes.some(({ body }) => body.includes('"state":"done"'))
            ? Effect.die(new Error("the host dies on purpose"))
            : inner.commit(change)
      }),
      body: (endpoints) =>
        Effect.gen(function* () {
          const { id } = yield* create()
          host.isDying = true
          yield* refusal(sendTest(id, key("one")))
          host.isDying = false
          yield* pass(120_000)
          const { event } = yield* sendTest(id, key("one"))
          assert.strictEqual((yield* only(id)).event_id, event.id)
          yield* runDue
          host.isDying = true
          yield* refusal(replay(id, event.id, key("two")))
          host.isDying = false
          yield* pass(120_000)
          yield* replay(id, event.id, key("two"))
          yield* runDue
          assert.lengthOf(endpoints.sent, 2)
          assert.strictEqual((yield* health(id)).state, "healthy")
          assert.lengthOf((yield* deliveries(id)).deliveries, 1)
          assert.strictEqual(endpoints.sent[0]?.at, beginning + 120_000)
        })
    }
  })
})
