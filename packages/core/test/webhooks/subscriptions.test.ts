import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { types } from "../../src/events/Event.ts"
import { advance, events, pass, pathsOf, refusal, runDue, start, stranger } from "../support/world.ts"
import { create, disable, health, kept, list, log, stored, testWebhooks, update, url } from "./support.ts"

const key = (idempotency_key: string) => ({ idempotency_key })
const choosable = types.filter((type) => type !== "webhook.test")

describe("creating a subscription", () => {
  testWebhooks("returns the whole subscription with its secret", (endpoints) =>
    Effect.gen(function* () {
      const made = yield* create({ event_types: ["quote.created", "quote.expired"] })
      assert.match(made.id, /^sub_[0-9a-z]{26}$/)
      assert.match(made.signing_secret ?? "", /^whsec_[A-Za-z0-9+/]{43}=$/)
      const { id, signing_secret: _, ...rest } = made
      assert.deepStrictEqual(rest, {
        environment: "sandbox",
        url,
        status: "active",
        event_types: ["quote.created", "quote.expired"],
        delivery_enabled: true,
        created_at: "2026-11-20T12:00:00.000Z",
        updated_at: "2026-11-20T12:00:00.000Z"
      })
      assert.deepStrictEqual(endpoints.lookedUp, [url])
      assert.deepStrictEqual((yield* list()).event_subscriptions, [{ ...made, signing_secret: null }])
      assert.strictEqual((yield* health(id)).state, "healthy")
    })
  )

  testWebhooks("gives every subscription its own secret", () =>
    Effect.gen(function* () {
      const secrets = [yield* create(), yield* create(), yield* create()].map((made) => made.signing_secret)
      assert.lengthOf(new Set(secrets), 3)
    })
  )

  testWebhooks("accepts every event type except the test event, including types that are not sent yet", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* create({ event_types: choosable })).event_types, choosable)
      assert.include(choosable, "quote_request.incomplete")
      assert.include(choosable, "purchase.completed")
    })
  )

  testWebhooks(
    "rejects each wrong event type at its index, together with errors in the url",
    () =>
      Effect.gen(function* () {
        const wrong = yield* refusal(
          create({ event_types: ["quote.created", "quote.gone", "webhook.test", "quote.created", "quote.*"] })
        )
        assert.strictEqual(wrong._tag, "invalid_input")
        assert.deepStrictEqual(pathsOf(wrong), ["event_types.1", "event_types.2", "event_types.3", "event_types.4"])
        assert.deepStrictEqual(wrong.field_errors?.[0]?.allowed_values, choosable)
        assert.deepStrictEqual(wrong.field_errors?.[1]?.allowed_values, choosable)
        assert.notInclude(JSON.stringify(wrong), "quote.gone")
        assert.deepStrictEqual(pathsOf(yield* refusal(create({ event_types: [] }))), ["event_types"])
        const both = yield* refusal(create({ url: "http://private", event_types: ["quote.gone"] }))
        assert.deepStrictEqual(pathsOf(both), ["url", "event_types.0"])
        assert.deepStrictEqual(pathsOf(yield* refusal(create({ url: 1, event_types: "quote.created" }))), [
          "url",
          "event_types"
        ])
        assert.deepStrictEqual(pathsOf(yield* refusal(create({ surprise: true }))), ["surprise"])
        assert.lengthOf(
          (yield* stored).filter(({ kind }) => kind === "subscription"),
          0
        )
      }),
    { lookUp: (url) => (url.startsWith("https:") ? "public" : "refused") }
  )

  testWebhooks(
    "reports invalid values, malformed values and an invalid Idempotency-Key together",
    (endpoints) =>
      Effect.gen(function* () {
        const bad = { url: "http://private", event_types: ["quote.gone", 1, "quote.created", "quote.created"] }
        const places = ["event_types.0", "event_types.1", "event_types.3", "surprise", "url"]
        const refused = yield* refusal(create({ ...bad, surprise: true }))
        assert.deepStrictEqual(pathsOf(refused).toSorted(), places)
        assert.notInclude(JSON.stringify(refused), "private")
        const unkeyed = yield* refusal(create({ url: "http://private", event_types: [] }, key("é")))
        assert.deepStrictEqual(pathsOf(unkeyed), ["Idempotency-Key", "url", "event_types"])
        const all = yield* refusal(create({ ...bad, surprise: true }, key("é")))
        assert.deepStrictEqual(pathsOf(all).toSorted(), ["Idempotency-Key", ...places])
        // Fields that are malformed, valid, or cannot be checked now are not reported.
        const others = [1, null, [], { toString: 1 }, "https://later.acme.dev/", url]
        for (const other of others.slice(0, 4)) {
          assert.deepStrictEqual(pathsOf(yield* refusal(create({ url: other, event_types: other }))).toSorted(), [
            "event_types",
            "url"
          ])
        }
        for (const other of others.slice(4)) {
          assert.deepStrictEqual(pathsOf(yield* refusal(create({ url: other, surprise: true }))), ["surprise"])
        }
        const { id } = yield* create()
        const changed = yield* refusal(update(id, { url: "http://private", event_types: ["quote.gone"], status: "x" }))
        assert.deepStrictEqual(pathsOf(changed).toSorted(), ["event_types.0", "status", "url"])
        assert.lengthOf((yield* list()).event_subscriptions, 1)
        assert.lengthOf(endpoints.sent, 0)
      }),
    {
      lookUp: (url) => (url.includes("later") ? "unavailable" : url.startsWith("https:") ? "public" : "refused")
    }
  )

  testWebhooks("rejects an Idempotency-Key with non-ASCII characters", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(pathsOf(yield* refusal(create({}, key("not ascii é")))), ["Idempotency-Key"])
    })
  )
})

describe("a subscription's url", () => {
  testWebhooks("is stored, shown and used in its normalized form", (endpoints) =>
    Effect.gen(function* () {
      const text = "HTTPS://B\u00fccher.Acme.dev.:443/Hook?x=%7e"
      const plain = "https://xn--bcher-kva.acme.dev/Hook?x=%7e"
      const made = yield* create({ url: text }, key("one"))
      assert.strictEqual(made.url, plain)
      assert.strictEqual((yield* create({ url: text }, key("one"))).url, plain)
      yield* start()
      yield* runDue
      assert.strictEqual(endpoints.sent[0]?.request.url, plain)
      assert.strictEqual((yield* update(made.id, { url: "https://ACME.dev" })).url, "https://acme.dev/")
      // The caller's own text is checked.
      assert.deepStrictEqual(endpoints.lookedUp, [text, "https://ACME.dev"])
    })
  )
})

describe("an endpoint host that is not public", () => {
  testWebhooks(
    "is rejected at `url`, and no subscription is created",
    (endpoints) =>
      Effect.gen(function* () {
        const error = yield* refusal(create({ url: "https://metadata.internal/" }, key("one")))
        assert.deepStrictEqual([error._tag, error.status, pathsOf(error)], ["invalid_input", 422, ["url"]])
        assert.deepStrictEqual((yield* list()).event_subscriptions, [])
        const [dropped] = yield* kept("dropped")
        assert.strictEqual((yield* refusal(health(dropped?.id ?? "")))._tag, "not_found")
        // A call that was refused before it ran leaves its key unused.
        const made = yield* create({}, key("one"))
        assert.strictEqual(made.status, "active")
        assert.notStrictEqual(made.id, dropped?.id)
        assert.lengthOf((yield* list()).event_subscriptions, 1)
        assert.lengthOf(endpoints.lookedUp, 2)
        yield* advance(601)
        assert.strictEqual((yield* list()).event_subscriptions[0]?.status, "active")
      }),
    { lookUp: (url) => (url.includes("internal") ? "refused" : "public") }
  )
})

describe("an endpoint host whose lookup fails temporarily", () => {
  testWebhooks(
    "causes a 503, and a retry with the same key creates the subscription",
    () =>
      Effect.gen(function* () {
        const error = yield* refusal(create({}, key("one")))
        assert.deepStrictEqual(
          [error._tag, error.status, error.retry_action, error.retry_after_seconds],
          ["service_unavailable", 503, "retry", 5]
        )
        assert.deepStrictEqual((yield* list()).event_subscriptions, [])
        const [unfinished] = yield* kept("unfinished")
        const id = unfinished?.id ?? assert.fail("nothing unfinished")
        assert.strictEqual((yield* health(id)).state, "no_endpoint")
        assert.strictEqual((yield* refusal(disable(id)))._tag, "not_found")
        assert.strictEqual((yield* refusal(update(id, { url })))._tag, "not_found")
        // It receives nothing yet.
        yield* start()
        yield* runDue
        assert.deepStrictEqual(yield* log(id), [])
        // A different input with that key is a different call.
        for (const other of [{ url: `${url}/other` }, { event_types: ["quote.created"] }]) {
          const conflict = yield* refusal(create(other, key("one")))
          assert.deepStrictEqual([conflict._tag, conflict.retry_action], ["conflict", "use_new_request_key"])
        }
        yield* pass(599_000)
        const made = yield* create({}, key("one"))
        assert.strictEqual(made.id, id)
        const again = yield* create({}, key("one"))
        assert.deepStrictEqual(again, { ...made, signing_secret: null })
        // The secret is the one from the first call.
        assert.include((yield* kept("active"))[0]?.body ?? "", JSON.parse(unfinished?.body ?? "{}").secrets[0].sealed)
        yield* advance(1_000)
        assert.strictEqual((yield* list()).event_subscriptions[0]?.status, "active")
      }),
    { lookUp: (_, nth) => (nth === 1 ? "unavailable" : "public") }
  )

  for (const environment of ["sandbox", "live"] as const) {
    testWebhooks(
      `invalidates the create call and its key after ten minutes (${environment})`,
      () =>
        Effect.gen(function* () {
          const options = { environment, ...key("one") }
          yield* refusal(create({}, options))
          const [unfinished] = yield* kept("unfinished")
          if (environment === "sandbox") yield* advance(600)
          else yield* pass(600_000)
          const error = yield* refusal(create({}, options))
          assert.deepStrictEqual(
            [error._tag, error.status, error.retry_action],
            ["conflict", 409, "use_new_request_key"]
          )
          if (environment === "live") yield* runDue
          assert.strictEqual((yield* kept("dropped"))[0]?.id, unfinished?.id)
          assert.strictEqual((yield* refusal(health(unfinished?.id ?? "", { environment })))._tag, "not_found")
          assert.strictEqual((yield* refusal(create({}, options))).retry_action, "use_new_request_key")
          assert.strictEqual((yield* create({}, { environment, ...key("two") })).status, "active")
        }),
      { lookUp: (_, nth) => (nth === 1 ? "unavailable" : "public") }
    )
  }
})

describe("a retried create call", () => {
  testWebhooks("returns the first response without the signing secret", () =>
    Effect.gen(function* () {
      const made = yield* create({}, key("one"))
      const again = yield* create({}, key("one"))
      assert.deepStrictEqual(again, { ...made, signing_secret: null })
      const secret = made.signing_secret ?? assert.fail("no secret")
      const texts = (yield* stored).map((record) => JSON.stringify(record)).join("\n")
      assert.include(texts, made.id)
      assert.notInclude(texts, "whsec_")
      assert.notInclude(texts, secret.slice(6, 26))
      const conflict = yield* refusal(create({ url: `${url}/2` }, key("one")))
      assert.deepStrictEqual([conflict._tag, conflict.retry_action], ["conflict", "use_new_request_key"])
      assert.lengthOf((yield* list()).event_subscriptions, 1)
    })
  )

  testWebhooks(
    "is refused with `wait` while the first call is running",
    () =>
      Effect.gen(function* () {
        const first = yield* Effect.forkChild(create({}, key("one")))
        yield* TestClock.adjust(0)
        const conflict = yield* refusal(create({}, key("one")))
        assert.deepStrictEqual([conflict._tag, conflict.retry_action], ["conflict", "wait"])
        yield* pass(4_000)
        assert.isNotNull((yield* Fiber.join(first)).signing_secret)
      }),
    { look_up_takes_ms: () => 4_000 }
  )
})

describe("the limit of ten active subscriptions", () => {
  testWebhooks("refuses an eleventh subscription until a subscription is disabled", () =>
    Effect.gen(function* () {
      const made = yield* Effect.forEach(Array.from({ length: 10 }), () => create())
      const error = yield* refusal(create({}, key("eleventh")))
      assert.deepStrictEqual([error._tag, error.status, error.retry_action], ["conflict", 409, "none"])
      assert.include(error.message, "10")
      // The cap applies to each environment.
      yield* create({}, { environment: "live" })
      yield* disable(made[3]?.id ?? "")
      yield* create({}, key("eleventh"))
      assert.strictEqual((yield* refusal(create()))._tag, "conflict")
      assert.lengthOf((yield* list({ limit: 100 })).event_subscriptions, 11)
    })
  )

  testWebhooks(
    "holds for many concurrent create calls",
    () =>
      Effect.gen(function* () {
        yield* Effect.forEach(Array.from({ length: 7 }), () => create())
        const outcome = create().pipe(
          Effect.as("made"),
          Effect.catch((error) => Effect.succeed(`${error._tag} ${error.retry_action}`))
        )
        const outcomes = yield* Effect.forEach(Array.from({ length: 12 }), () => outcome, { concurrency: "unbounded" })
        assert.deepStrictEqual(outcomes.toSorted(), [
          ...Array.from({ length: 9 }, () => "conflict none"),
          ...Array.from({ length: 3 }, () => "made")
        ])
        assert.lengthOf(yield* kept("active"), 10)
      }),
    {},
    {
      // Every call reads before any of them writes.
      around: (storage) => ({ ...storage, commit: (change) => Effect.andThen(Effect.yieldNow, storage.commit(change)) })
    }
  )

  testWebhooks(
    "does not count disabled subscriptions",
    () =>
      Effect.gen(function* () {
        for (let i = 0; i < 30; i++) yield* disable((yield* create()).id)
        const { id } = yield* create()
        const other = yield* create()
        yield* start()
        assert.lengthOf(yield* log(id), 1)
        assert.lengthOf(yield* log(other.id), 1)
      }),
    {},
    {
      // Every page is cut short.
      around: (storage) => ({
        ...storage,
        page: (query) => storage.page(query.kind === "subscription" ? { ...query, limit: 1 } : query)
      })
    }
  )
})

describe("the list of subscriptions", () => {
  testWebhooks("is sorted newest first, includes disabled subscriptions, and contains no secrets", () =>
    Effect.gen(function* () {
      const ids: Array<string> = []
      for (let i = 0; i < 13; i++) {
        const { id } = yield* create()
        if (i % 2 === 0) yield* disable(id)
        ids.unshift(id)
      }
      for (const limit of [undefined, 1, 5, 13, 100]) {
        const seen: Array<string> = []
        let cursor: string | null = null
        do {
          const page: Effect.Success<ReturnType<typeof list>> = yield* list({
            ...(limit !== undefined && { limit }),
            ...(cursor !== null && { cursor })
          })
          assert.isAtMost(page.event_subscriptions.length, limit ?? 10)
          for (const item of page.event_subscriptions) assert.isNull(item.signing_secret)
          seen.push(...page.event_subscriptions.map(({ id }) => id))
          cursor = page.next_cursor
        } while (cursor !== null)
        assert.deepStrictEqual(seen, ids)
      }
    })
  )

  testWebhooks("rejects cursors from another list or another organization", () =>
    Effect.gen(function* () {
      yield* create()
      yield* create()
      const cursor = (yield* list({ limit: 1 })).next_cursor ?? assert.fail("no cursor")
      const { sandbox } = yield* stranger
      assert.strictEqual((yield* refusal(list({ cursor }, { key: sandbox })))._tag, "invalid_cursor")
      assert.strictEqual((yield* refusal(list({ cursor }, { environment: "live" })))._tag, "invalid_cursor")
      assert.strictEqual((yield* refusal(list({ cursor: `${cursor}x` })))._tag, "invalid_cursor")
      const other = (yield* events()).next_cursor
      assert.strictEqual((yield* refusal(list({ cursor: other })))._tag, "invalid_cursor")
    })
  )
})
