import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { verifyWebhook } from "../../src/index.ts"
import { advance, pass, pathsOf, refusal, reset, runDue, start, stranger } from "../support/world.ts"
import { create, disable, health, list, log, testWebhooks, update, url } from "./support.ts"

describe("a change to a subscription", () => {
  testWebhooks(
    "can set the url, the event types or both, and returns no secret",
    () =>
      Effect.gen(function* () {
        const made = yield* create()
        yield* advance(60)
        const moved = yield* update(made.id, { url: `${url}/new` })
        assert.deepStrictEqual(moved, {
          ...made,
          url: `${url}/new`,
          signing_secret: null,
          updated_at: "2026-11-20T12:01:00.000Z"
        })
        const both = yield* update(made.id, { url, event_types: ["quote.created"] })
        assert.deepStrictEqual([both.url, both.event_types], [url, ["quote.created"]])
        const error = yield* refusal(update(made.id, { url: "https://private", event_types: ["quote.gone"] }))
        assert.deepStrictEqual(pathsOf(error), ["url", "event_types.0"])
        const many = Array.from({ length: 3_000 }, (_, i) => (i % 2 === 0 ? `quote.gone_${i}` : i))
        const full = yield* refusal(update(made.id, { event_types: many }))
        assert.lengthOf(pathsOf(full), 101)
        assert.strictEqual(full.field_errors?.at(-1)?.message, "… and 2,900 more wrong fields.")
        const later = yield* refusal(update(made.id, { url: "https://later" }))
        assert.deepStrictEqual([later._tag, later.retry_after_seconds], ["service_unavailable", 5])
        assert.strictEqual((yield* list()).event_subscriptions[0]?.url, url)
      }),
    { lookUp: (url) => (url.includes("private") ? "refused" : url.includes("later") ? "unavailable" : "public") }
  )

  testWebhooks("is rejected if it contains no field, and the error lists the fields that can be changed", () =>
    Effect.gen(function* () {
      const { id } = yield* create()
      const error = yield* refusal(update(id, {}))
      assert.deepStrictEqual([error._tag, pathsOf(error)], ["invalid_input", ["url", "event_types"]])
    })
  )

  testWebhooks("applies to later events", (endpoints) =>
    Effect.gen(function* () {
      const { id, signing_secret } = yield* create()
      yield* update(id, { url: `${url}/new` })
      yield* start()
      yield* runDue
      assert.deepStrictEqual(
        endpoints.sent.map(({ request }) => request.url),
        [`${url}/new`]
      )
      const { headers, body } = endpoints.sent[0]?.request ?? assert.fail("nothing was sent")
      const now_seconds = Number(headers["webhook-timestamp"])
      const secrets = [signing_secret ?? ""]
      assert.isTrue((yield* Effect.promise(() => verifyWebhook({ secrets, headers, body, now_seconds }))).ok)
      yield* update(id, { event_types: ["quote.created"] })
      yield* start({ scenario: "waits_in_queue" })
      yield* runDue
      assert.lengthOf(endpoints.sent, 1)
    })
  )

  testWebhooks("is refused for a disabled subscription", () =>
    Effect.gen(function* () {
      const made = yield* create()
      const disabled = yield* disable(made.id)
      assert.deepStrictEqual(disabled, { ...made, status: "disabled", signing_secret: null })
      yield* pass(1_000)
      assert.deepStrictEqual(yield* disable(made.id), disabled)
      const error = yield* refusal(update(made.id, { url }))
      assert.deepStrictEqual([error._tag, error.retry_action], ["conflict", "none"])
      assert.strictEqual((yield* health(made.id)).state, "disabled")
    })
  )

  testWebhooks("returns not_found to another organization, and forbidden to widget and platform keys", () =>
    Effect.gen(function* () {
      const { id } = yield* create()
      const { sandbox } = yield* stranger
      for (const options of [{ key: sandbox }, { environment: "live" as const }]) {
        assert.strictEqual((yield* refusal(update(id, { url }, options)))._tag, "not_found")
        assert.strictEqual((yield* refusal(disable(id, options)))._tag, "not_found")
        assert.strictEqual((yield* refusal(health(id, options)))._tag, "not_found")
        assert.deepStrictEqual((yield* list({}, options)).event_subscriptions, [])
      }
      for (const as of ["widget", "platform"] as const) {
        assert.strictEqual((yield* refusal(create({}, { as })))._tag, "forbidden")
        assert.strictEqual((yield* refusal(list({}, { as })))._tag, "forbidden")
      }
      assert.strictEqual((yield* list()).event_subscriptions[0]?.status, "active")
    })
  )

  testWebhooks("is never dated before the subscription's creation, even after a reset moves the clock back", () =>
    Effect.gen(function* () {
      yield* advance(86_400)
      const { id, created_at } = yield* create()
      yield* reset()
      const [listed] = (yield* list()).event_subscriptions
      assert.deepStrictEqual([listed?.created_at, listed?.updated_at], [created_at, created_at])
      assert.strictEqual((yield* update(id, { url: `${url}/other` })).updated_at, created_at)
    })
  )
})

describe("a subscription", () => {
  testWebhooks("survives a sandbox reset", () =>
    Effect.gen(function* () {
      const { id } = yield* create()
      yield* advance(86_400)
      yield* reset()
      assert.strictEqual((yield* list()).event_subscriptions[0]?.id, id)
      yield* start()
      assert.lengthOf(yield* log(id), 1)
    })
  )
})
