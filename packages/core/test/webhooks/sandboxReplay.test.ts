import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { advance, feed, pass, pathsOf, refusal, runDue, start, work } from "../support/world.ts"
import {
  answered,
  confirmed,
  create,
  disable,
  log,
  only,
  replay,
  replayEvents,
  type Sent,
  testWebhooks,
  update,
  url
} from "./support.ts"

const types = ["quote_request.queued", "quote_request.updated", "quote_request.completed", "quote.created"]
const idsOf = (sent: ReadonlyArray<Sent>) => sent.map(({ request }) => request.headers["webhook-id"])

/** Some events, all of them delivered. */
const deliveredEvents = Effect.gen(function* () {
  const { id } = yield* create({ event_types: types })
  yield* start({ line: "renters", scenario: "quotes_ready" })
  yield* advance(60)
  yield* runDue
  const ids = (yield* feed()).map((event) => event.id)
  assert.isAtLeast(ids.length, 4)
  return { id, ids }
})

const dropStale = "Drop events whose resource.version is not newer than the one you hold."

describe("a replay of the sandbox's events", () => {
  const orders = {
    as_recorded: (ids: ReadonlyArray<string>) => ids,
    duplicated: (ids: ReadonlyArray<string>) => ids.flatMap((id) => [id, id]),
    reversed: (ids: ReadonlyArray<string>) => ids.toReversed(),
    gap: (ids: ReadonlyArray<string>) => ids.slice(1)
  }
  for (const [scenario, order] of Object.entries(orders)) {
    testWebhooks(`sends the events with their original bytes, in the order of ${scenario} mode`, (endpoints) =>
      Effect.gen(function* () {
        const { id, ids } = yield* deliveredEvents
        const first = new Map(
          endpoints.sent.splice(0).map(({ request }) => [request.headers["webhook-id"], request.body])
        )
        const { control, replay: told_replay, removed } = yield* replayEvents({ scenario })
        assert.deepStrictEqual([control, removed], ["replay_events", null])
        assert.match(told_replay?.id ?? "", /^rpl_[0-9a-z]{26}$/)
        assert.strictEqual(told_replay?.scenarioCode, scenario)
        assert.strictEqual(told_replay?.deliveries, order(ids).length)
        assert.strictEqual(
          told_replay?.recovery,
          scenario === "gap" ? "Read GET /v1/events from your stored cursor." : dropStale
        )
        assert.isAbove(told_replay?.notice.length ?? 0, 20)
        yield* runDue
        assert.deepStrictEqual(idsOf(endpoints.sent), [...order(ids)])
        for (const { request } of endpoints.sent) {
          assert.strictEqual(request.body, first.get(request.headers["webhook-id"]))
        }
        const times = order(ids).filter((one) => one === ids[1]).length
        const delivery = (yield* log(id)).find(({ event_id }) => event_id === ids[1])
        assert.deepStrictEqual(
          delivery?.attempts.map(({ trigger }) => trigger),
          [...Array.from({ length: times }, () => "manual"), "scheduled"]
        )
        assert.strictEqual(delivery?.status, "succeeded")
        assert.deepStrictEqual(
          (yield* feed()).map((event) => event.id),
          ids
        )
      })
    )
  }

  testWebhooks("sends the events fifteen minutes later in delayed mode", (endpoints) =>
    Effect.gen(function* () {
      const { ids } = yield* deliveredEvents
      endpoints.sent.length = 0
      const { replay } = yield* replayEvents({ scenario: "delayed" })
      assert.deepStrictEqual([replay?.deliveries, replay?.recovery], [ids.length, dropStale])
      yield* runDue
      yield* advance(899)
      yield* runDue
      assert.deepStrictEqual(idsOf(endpoints.sent), [])
      yield* advance(1)
      yield* runDue
      assert.deepStrictEqual(idsOf(endpoints.sent), ids)
    })
  )

  testWebhooks("uses the as_recorded mode by default, and rejects unknown modes", (endpoints) =>
    Effect.gen(function* () {
      const { ids } = yield* deliveredEvents
      endpoints.sent.length = 0
      assert.strictEqual((yield* replayEvents()).replay?.scenarioCode, "as_recorded")
      yield* runDue
      assert.deepStrictEqual(idsOf(endpoints.sent), ids)
      const error = yield* refusal(replayEvents({ scenario: "backwards" }))
      assert.deepStrictEqual([error._tag, pathsOf(error)], ["invalid_input", ["scenario"]])
      assert.deepStrictEqual(error.field_errors?.[0]?.allowed_values, [
        "as_recorded",
        "duplicated",
        "reversed",
        "delayed",
        "gap"
      ])
      assert.strictEqual((yield* refusal(replayEvents({}, { environment: "live" })))._tag, "forbidden")
    })
  )

  testWebhooks("sends each active subscription only the event types to which it subscribes", (endpoints) =>
    Effect.gen(function* () {
      const { ids } = yield* deliveredEvents
      const gone = yield* create({ event_types: types, url: `${url}/gone` })
      yield* disable(gone.id)
      const narrow = yield* create({ event_types: ["quote.created"], url: `${url}/narrow` })
      endpoints.sent.length = 0
      const quotes = (yield* feed()).filter(({ type }) => type === "quote.created").map((event) => event.id)
      assert.strictEqual((yield* replayEvents()).replay?.deliveries, ids.length + quotes.length)
      yield* runDue
      const to = (address: string) => endpoints.sent.filter(({ request }) => request.url === address)
      assert.deepStrictEqual(idsOf(to(url)), ids)
      assert.deepStrictEqual(idsOf(to(`${url}/narrow`)), quotes)
      assert.lengthOf(endpoints.sent, ids.length + quotes.length)
      // Its log now contains an event that was never queued for it before.
      for (const { status, attempts } of yield* log(narrow.id)) {
        assert.deepStrictEqual([status, attempts[0]?.trigger], ["succeeded", "manual"])
      }
      assert.deepStrictEqual((yield* log(narrow.id)).map(({ event_id }) => event_id).toReversed(), quotes)
    })
  )

  testWebhooks(
    "retries events on schedule only if they had not been delivered before",
    (endpoints) =>
      Effect.gen(function* () {
        yield* start({ scenario: "waits_in_queue" })
        const { id } = yield* create()
        yield* advance(100)
        yield* replayEvents({ scenario: "delayed" })
        const pending = yield* only(id)
        assert.deepStrictEqual(
          [pending.status, pending.created_at, pending.next_attempt_at],
          ["pending", "2026-11-20T12:01:40.000Z", "2026-11-20T12:16:40.000Z"]
        )
        yield* advance(900)
        yield* runDue
        const { status, next_attempt_at } = yield* only(id)
        assert.deepStrictEqual([status, next_attempt_at], ["retrying", "2026-11-20T12:16:45.000Z"])
        yield* advance(5)
        yield* runDue
        assert.strictEqual((yield* only(id)).status, "succeeded")
        yield* replayEvents({ scenario: "duplicated" })
        yield* runDue
        const { status: after, attempts } = yield* only(id)
        assert.deepStrictEqual([after, attempts.length], ["succeeded", 4])
        yield* advance(86_400)
        yield* runDue
        assert.lengthOf(endpoints.sent, 4)
      }),
    { send: (_, nth) => (nth === 2 ? confirmed : answered(500)) }
  )

  testWebhooks(
    "sends events one by one, however slow an endpoint is",
    (endpoints) =>
      Effect.gen(function* () {
        const { id, ids } = yield* deliveredEvents
        yield* update(id, { url: `${url}/slow` })
        endpoints.sent.length = 0
        yield* work
        yield* replayEvents({ scenario: "reversed" })
        yield* pass(30_000)
        assert.deepStrictEqual(idsOf(endpoints.sent), ids.toReversed())
        const times = endpoints.sent.map(({ at }) => at)
        assert.deepStrictEqual(
          times.slice(1).map((at, index) => at - (times[index] ?? 0) >= 900),
          times.slice(1).map(() => true)
        )
      }),
    { send_takes_ms: (nth, { url }) => (url.endsWith("slow") ? 900 + nth : 0) }
  )

  testWebhooks("does not count against an event's replay limit", () =>
    Effect.gen(function* () {
      const { id } = yield* create()
      yield* start({ scenario: "waits_in_queue" })
      for (let i = 0; i < 10; i++) yield* replayEvents()
      yield* runDue
      const { event_id } = yield* only(id)
      for (let i = 0; i < 5; i++) yield* replay(id, event_id)
      assert.strictEqual((yield* refusal(replay(id, event_id)))._tag, "rate_limited")
    })
  )

  testWebhooks("creates no deliveries without events or subscriptions", (endpoints) =>
    Effect.gen(function* () {
      assert.strictEqual((yield* replayEvents()).replay?.deliveries, 0)
      yield* start({ scenario: "waits_in_queue" })
      assert.strictEqual((yield* replayEvents()).replay?.deliveries, 0)
      yield* create({ event_types: ["purchase.completed"] })
      assert.strictEqual((yield* replayEvents()).replay?.deliveries, 0)
      yield* runDue
      assert.lengthOf(endpoints.sent, 0)
    })
  )
})
