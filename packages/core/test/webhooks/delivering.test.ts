import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { verifyWebhook } from "../../src/index.ts"
import type { Change } from "../../src/storage/Change.ts"
import type { SendOutcome, WebhookRequest } from "../../src/webhooks/WebhookSender.ts"
import { fromMillis, toMillis } from "../../src/wire/Timestamp.ts"
import { advance, beginning, feed, forceExpiry, pass, runDue, start, world } from "../support/world.ts"
import {
  answered,
  bodyOf,
  confirmed,
  create,
  deliveries,
  delivery,
  endpoints,
  health,
  log,
  only,
  replayEvents,
  type Sent,
  silence,
  stored,
  testScripted,
  testWebhooks
} from "./support.ts"

const live = { environment: "live" } as const
const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const waits = [5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 10 * hour]
const everything = ["quote_request.queued", "quote_request.updated", "quote_request.completed", "quote.created"]

const timesOf = (sent: ReadonlyArray<Sent>) => sent.map(({ at }) => at - beginning)

describe("an event", () => {
  testScripted("is stored in the feed and in the delivery logs in one commit", () => {
    const changes: Array<Change> = []
    return {
      around: (storage) => ({
        ...storage,
        commit: (change) => {
          if (change.events.length > 0) changes.push(change)
          return storage.commit(change)
        }
      }),
      body: () =>
        Effect.gen(function* () {
          const wide = yield* create({ event_types: everything })
          const narrow = yield* create({ event_types: ["quote.created"] })
          yield* start({ line: "personal_auto" })
          yield* start({ line: "pet" })
          yield* advance(60)
          const events = yield* feed()
          const wanted = events.filter(({ type }) => everything.includes(type))
          assert.isAbove(wanted.length, 5)
          assert.deepStrictEqual(
            (yield* log(wide.id)).map(({ event_id }) => event_id).toReversed(),
            wanted.map(({ id }) => id)
          )
          assert.deepStrictEqual(
            (yield* log(narrow.id)).map(({ event_type }) => event_type),
            wanted.filter(({ type }) => type === "quote.created").map(({ type }) => type)
          )
          for (const { events, writes } of changes) {
            const handed = writes.filter(({ kind }) => kind === "delivery").map(({ id }) => id)
            for (const event of events.filter(({ body }) => everything.includes(JSON.parse(body).type))) {
              assert.include(handed, `${event.id.slice(4)} ${wide.id}`)
            }
          }
        })
    }
  })

  testWebhooks(
    "is delivered only to subscriptions that existed before the event and include the event's type",
    (endpoints) =>
      Effect.gen(function* () {
        yield* start({ scenario: "waits_in_queue" })
        const { id } = yield* create()
        const other = yield* create({}, live)
        yield* runDue
        assert.deepStrictEqual(yield* log(id), [])
        yield* start({ scenario: "waits_in_queue" })
        yield* runDue
        assert.lengthOf(yield* log(id), 1)
        assert.deepStrictEqual(yield* log(other.id, live), [])
        assert.lengthOf(endpoints.sent, 1)
      })
  )
})

describe("a delivery", () => {
  testWebhooks("contains the feed event and its revision, with signed webhook- and quotewire- headers", (endpoints) =>
    Effect.gen(function* () {
      const { id, signing_secret } = yield* create({ url: "https://hooks.acme.dev/a?b=c" })
      yield* start()
      yield* runDue
      const [event] = yield* feed()
      const sent = endpoints.sent[0] ?? assert.fail("nothing was sent")
      // The body is the event as the feed shows it.
      assert.deepStrictEqual(bodyOf(sent), { ...event, schema_version: "2026-09-26" })
      assert.deepStrictEqual(Object.keys(bodyOf(sent)), [...Object.keys(event ?? {}), "schema_version"])
      assert.strictEqual(sent.request.url, "https://hooks.acme.dev/a?b=c")
      // Both sets of headers have the same values, and the signature covers the body.
      const { headers, body } = sent.request
      const signature = headers["webhook-signature"] ?? ""
      const timestamp = String(beginning / 1_000)
      assert.deepStrictEqual(headers, {
        "content-type": "application/json",
        "webhook-id": event?.id ?? "",
        "webhook-timestamp": timestamp,
        "webhook-signature": signature,
        "quotewire-id": event?.id ?? "",
        "quotewire-timestamp": timestamp,
        "quotewire-signature": signature
      })
      const secrets = [signing_secret ?? ""]
      const now_seconds = beginning / 1_000
      const verify = (text: string) =>
        Effect.promise(() => verifyWebhook({ secrets, headers, body: text, now_seconds }))
      assert.isTrue((yield* verify(body)).ok)
      assert.isFalse((yield* verify(body.replace("queued", "failed"))).ok)
      // The delivery's record shows the successful attempt.
      assert.deepStrictEqual(yield* only(id), {
        event_id: event?.id ?? "",
        event_type: "quote_request.queued",
        status: "succeeded",
        created_at: "2026-11-20T12:00:00.000Z",
        next_attempt_at: null,
        attempts: [
          {
            attempted_at: "2026-11-20T12:00:00.000Z",
            status: "succeeded",
            response_status_code: 200,
            response_duration_ms: 12,
            trigger: "scheduled"
          }
        ]
      })
    })
  )

  testWebhooks("is pending until its first attempt has ended", () =>
    Effect.gen(function* () {
      const { id } = yield* create()
      yield* start()
      const { status, next_attempt_at, attempts } = yield* only(id)
      assert.deepStrictEqual([status, next_attempt_at, attempts], ["pending", "2026-11-20T12:00:00.000Z", []])
    })
  )

  for (const [environment, took] of [
    ["live", 3_000],
    ["sandbox", 15_000]
  ] as const) {
    testWebhooks(
      `is retried on schedule, counted from the end of the previous attempt, and then fails (${environment})`,
      (endpoints) =>
        Effect.gen(function* () {
          const { id } = yield* create({}, { environment })
          yield* start({}, { environment })
          yield* runDue
          const expected = [0]
          for (const wait of waits) {
            assert.deepStrictEqual(timesOf(endpoints.sent), expected)
            const due = (expected.at(-1) ?? 0) + took + wait
            const { status, next_attempt_at } = yield* only(id, { environment })
            assert.deepStrictEqual([status, next_attempt_at], ["retrying", fromMillis(beginning + due)])
            assert.strictEqual((yield* health(id, { environment })).state, "failing")
            yield* TestClock.setTime(beginning + due - 1)
            yield* runDue
            assert.lengthOf(endpoints.sent, expected.length)
            yield* TestClock.setTime(beginning + due)
            yield* runDue
            expected.push(due)
          }
          assert.deepStrictEqual(timesOf(endpoints.sent), expected)
          const { status, next_attempt_at, attempts } = yield* only(id, { environment })
          assert.deepStrictEqual([status, next_attempt_at], ["failed", null])
          assert.deepStrictEqual(
            attempts.map(({ attempted_at }) => toMillis(attempted_at) - beginning),
            expected.toReversed()
          )
          for (const attempt of attempts) {
            assert.deepStrictEqual([attempt.status, attempt.trigger], ["failed", "scheduled"])
            assert.strictEqual(attempt.response_duration_ms, took)
          }
          yield* pass(48 * hour)
          yield* runDue
          assert.lengthOf(endpoints.sent, expected.length)
          // The same bytes and the same id on every attempt, with the time of the attempt.
          assert.lengthOf(new Set(endpoints.sent.map(({ request }) => request.body)), 1)
          assert.lengthOf(new Set(endpoints.sent.map(({ request }) => request.headers["webhook-id"])), 1)
          for (const { at, request } of endpoints.sent) {
            assert.strictEqual(request.headers["webhook-timestamp"], String(Math.floor(at / 1_000)))
          }
        }),
      { send: () => (took === 15_000 ? silence : answered(503, took)) }
    )
  }

  for (const [what, outcome, succeeds] of [
    ["a 204", answered(204), true],
    ["a 299", answered(299), true],
    ["a 301", answered(301), false],
    ["a 199", answered(199), false],
    ["a 404", answered(404), false],
    ["a 429", answered(429), false],
    ["a truncated body", { ...answered(200), failure: "bad_response" }, false],
    ["a timeout", silence, false],
    ["a failed connection", { response_status_code: null, duration_ms: 3, failure: "connection_failed" }, false]
  ] as const) {
    testWebhooks(
      `${succeeds ? "has succeeded" : "is scheduled for a retry"} after ${what}`,
      () =>
        Effect.gen(function* () {
          const { id } = yield* create()
          yield* start()
          yield* runDue
          const { status, attempts } = yield* only(id)
          assert.strictEqual(status, succeeds ? "succeeded" : "retrying")
          assert.strictEqual(attempts[0]?.status, succeeds ? "succeeded" : "failed")
          assert.strictEqual(attempts[0]?.response_status_code, outcome.response_status_code)
          assert.deepStrictEqual((yield* health(id)).last_attempt, {
            attempted_at: "2026-11-20T12:00:00.000Z",
            status: succeeds ? "succeeded" : "failed",
            response_status_code: outcome.response_status_code
          })
        }),
      { send: () => outcome }
    )
  }

  testWebhooks(
    "can succeed on a retry",
    (endpoints) =>
      Effect.gen(function* () {
        const { id } = yield* create()
        yield* start({ scenario: "waits_in_queue" })
        yield* runDue
        yield* pass(5 * second)
        yield* runDue
        yield* pass(5 * minute)
        yield* runDue
        const { status, next_attempt_at, attempts } = yield* only(id)
        assert.deepStrictEqual([status, next_attempt_at], ["succeeded", null])
        assert.deepStrictEqual(
          attempts.map((attempt) => attempt.response_status_code),
          [200, 500, 500]
        )
        yield* pass(72 * hour)
        yield* runDue
        assert.lengthOf(endpoints.sent, 3)
        assert.strictEqual((yield* health(id)).state, "healthy")
      }),
    { send: (_, nth) => (nth < 3 ? answered(500) : confirmed) }
  )

  testWebhooks("shows its twenty latest attempts", () =>
    Effect.gen(function* () {
      const { id } = yield* create()
      yield* start({ scenario: "waits_in_queue" })
      yield* runDue
      for (let i = 0; i < 24; i++) {
        yield* advance(1)
        yield* replayEvents()
        yield* runDue
      }
      const { attempts } = yield* only(id)
      assert.deepStrictEqual(
        attempts.map(({ attempted_at }) => (toMillis(attempted_at) - beginning) / second),
        Array.from({ length: 20 }, (_, index) => 24 - index)
      )
    })
  )

  testWebhooks("has the host's real time as its timestamp, whatever the sandbox's clock says", (endpoints) =>
    Effect.gen(function* () {
      yield* create()
      yield* advance(1_000_000)
      yield* pass(77_700)
      yield* start()
      yield* runDue
      assert.strictEqual(endpoints.sent[0]?.request.headers["webhook-timestamp"], String(beginning / 1_000 + 77))
    })
  )
})

describe("an advance of a day", () => {
  const types = [...everything, "quote.updated", "quote.expired"]
  /** An endpoint's response depends on the event and on how often it was sent. */
  const unsteady = () => {
    const counts = new Map<string, number>()
    return (request: WebhookRequest): SendOutcome => {
      const { type, line, resource } = JSON.parse(request.body)
      const id = request.headers["webhook-id"] ?? ""
      const nth = (counts.get(id) ?? 0) + 1
      counts.set(id, nth)
      const failures = (type.length * 7 + line.length * 3 + resource.version) % 10
      return nth > failures ? confirmed : nth % 2 === 0 ? silence : answered(500, 100 * nth)
    }
  }

  const lived = (steps: number) => {
    const webhooks = endpoints({ send: unsteady() })
    return Effect.gen(function* () {
      yield* TestClock.setTime(beginning)
      const { id } = yield* create({ event_types: types })
      yield* start({ line: "personal_auto", scenario: "quotes_ready" })
      yield* start({ line: "renters", scenario: "waits_in_queue" })
      for (let step = 0; step < steps; step++) {
        yield* advance(86_400 / steps)
        yield* runDue
      }
      yield* forceExpiry()
      for (let step = 0; step < steps; step++) {
        yield* advance((2 * 86_400) / steps)
        yield* runDue
      }
      const all = (yield* log(id)).map(({ event_id: _, ...rest }) => rest)
      return { all, health: { ...(yield* health(id)), subscription_id: "" } }
    }).pipe(Effect.scoped, Effect.provide(world({ webhooks: webhooks.layer })))
  }

  it.effect("leaves the same delivery log as many small advances", () =>
    Effect.gen(function* () {
      const jump = yield* lived(1)
      assert.isAbove(jump.all.length, 6)
      assert.includeMembers(
        jump.all.map(({ status }) => status),
        ["succeeded", "failed"]
      )
      assert.isAbove(Math.max(...jump.all.map(({ attempts }) => attempts.length)), 6)
      for (const steps of [24, 480]) assert.deepStrictEqual(yield* lived(steps), jump)
    })
  )
})

describe("the delivery log", () => {
  testWebhooks("is listed newest first, in pages, and rejects another log's cursor", () =>
    Effect.gen(function* () {
      const { id } = yield* create()
      const other = yield* create()
      for (let i = 0; i < 23; i++) {
        yield* start({ scenario: "waits_in_queue" })
        yield* pass(10)
      }
      const all = (yield* feed()).map((event) => event.id).toReversed()
      for (const limit of [undefined, 1, 7, 23, 100]) {
        const seen: Array<string> = []
        let cursor: string | null = null
        do {
          const page: Effect.Success<ReturnType<typeof deliveries>> = yield* deliveries(id, {
            ...(limit !== undefined && { limit }),
            ...(cursor !== null && { cursor })
          })
          assert.isAtMost(page.deliveries.length, limit ?? 10)
          for (const entry of page.deliveries) assert.notProperty(entry, "attempts")
          seen.push(...page.deliveries.map(({ event_id }) => event_id))
          cursor = page.next_cursor
        } while (cursor !== null)
        assert.deepStrictEqual(seen, all)
      }
      const { next_cursor } = yield* deliveries(id, { limit: 1 })
      for (const cursor of [next_cursor, "x", ""]) {
        const error = yield* Effect.flip(deliveries(other.id, { cursor }))
        assert.strictEqual(error._tag, "invalid_cursor")
      }
      assert.strictEqual((yield* Effect.flip(delivery(id, "evt_x")))._tag, "not_found")
      assert.strictEqual((yield* Effect.flip(delivery(id, `evt_other${all[0]?.slice(4)}`)))._tag, "not_found")
      assert.strictEqual((yield* Effect.flip(delivery("sub_x", all[0] ?? "")))._tag, "not_found")
    })
  )

  testWebhooks("covers the last thirty days", () =>
    Effect.gen(function* () {
      const { id } = yield* create()
      yield* start({ scenario: "waits_in_queue" })
      yield* runDue
      yield* advance(30 * 86_400)
      assert.lengthOf(yield* log(id), 1)
      yield* advance(1)
      assert.lengthOf(yield* log(id), 0)
      assert.lengthOf(
        (yield* stored).filter(({ kind }) => kind === "delivery"),
        0
      )
    })
  )
})
