import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { verifyWebhook } from "../../src/index.ts"
import { advance, pass, pathsOf, refusal, reset, runDue, start } from "../support/world.ts"
import { create, disable, list, rotate, type Sent, stored, testScripted, testWebhooks } from "./support.ts"

const key = (idempotency_key: string) => ({ idempotency_key })
const secretOf = ({ signing_secret }: { readonly signing_secret: string | null }): string =>
  signing_secret ?? assert.fail("no secret")

/** The secrets that signed a POST. */
const signers = Effect.fnUntraced(function* ({ request: { headers, body } }: Sent, secrets: ReadonlyArray<string>) {
  const now_seconds = Number(headers["webhook-timestamp"])
  const found: Array<number> = []
  for (const [index, secret] of secrets.entries()) {
    const { ok } = yield* Effect.promise(() => verifyWebhook({ secrets: [secret], headers, body, now_seconds }))
    if (ok) found.push(index)
  }
  assert.lengthOf((headers["webhook-signature"] ?? "").split(" "), found.length)
  return found
})

describe("a secret rotation", () => {
  testWebhooks("returns the new secret once, and both secrets sign deliveries for a day", (endpoints) =>
    Effect.gen(function* () {
      const made = yield* create()
      const rotated = yield* rotate(made.id, key("one"))
      assert.deepStrictEqual(rotated, {
        ...made,
        signing_secret: secretOf(rotated),
        previous_secret_expires_at: "2026-11-21T12:00:00.000Z"
      })
      assert.notStrictEqual(secretOf(rotated), secretOf(made))
      assert.deepStrictEqual(yield* rotate(made.id, key("one")), { ...rotated, signing_secret: null })
      assert.deepStrictEqual((yield* list()).event_subscriptions, [{ ...rotated, signing_secret: null }])
      const secrets = [secretOf(made), secretOf(rotated)]
      const sent = Effect.gen(function* () {
        yield* start()
        yield* runDue
        return yield* signers(endpoints.sent.at(-1) ?? assert.fail("nothing was sent"), secrets)
      })
      assert.deepStrictEqual(yield* sent, [0, 1])
      yield* advance(86_399)
      assert.deepStrictEqual(yield* sent, [0, 1])
      yield* pass(1_000)
      assert.deepStrictEqual(yield* sent, [1])
      assert.notProperty((yield* list()).event_subscriptions[0], "previous_secret_expires_at")
      assert.notInclude(JSON.stringify(yield* stored), "whsec_")
      assert.notInclude(JSON.stringify(yield* stored), secretOf(rotated).slice(6, 26))
    })
  )

  testWebhooks("leaves earlier secrets in use for a full day, even after a second rotation", (endpoints) =>
    Effect.gen(function* () {
      const made = yield* create()
      const secrets = [made, yield* rotate(made.id), yield* rotate(made.id)].map(secretOf)
      yield* start()
      yield* runDue
      assert.deepStrictEqual(yield* signers(endpoints.sent[0] ?? assert.fail("nothing was sent"), secrets), [0, 1, 2])
    })
  )

  testWebhooks("is refused while ten secrets are in use, until the oldest has expired", () =>
    Effect.gen(function* () {
      const { id } = yield* create()
      for (let nth = 1; nth < 10; nth++) yield* rotate(id)
      const error = yield* refusal(rotate(id))
      assert.deepStrictEqual([error._tag, error.retry_action], ["conflict", "wait"])
      yield* advance(86_400)
      assert.isNotNull((yield* rotate(id)).signing_secret)
    })
  )

  testWebhooks("is refused for a disabled subscription", () =>
    Effect.gen(function* () {
      const { id } = yield* create()
      yield* disable(id)
      assert.deepStrictEqual((yield* refusal(rotate(id))).retry_action, "none")
      assert.strictEqual((yield* refusal(rotate("sub_x")))._tag, "not_found")
    })
  )

  testWebhooks(
    "is refused with `wait` while another rotation is running",
    () =>
      Effect.gen(function* () {
        const making = yield* Effect.forkChild(create())
        yield* pass(3_000)
        const { id } = yield* Fiber.join(making)
        const first = yield* Effect.forkChild(rotate(id, key("one")))
        yield* TestClock.adjust(1_000)
        const error = yield* refusal(rotate(id, key("two")))
        assert.deepStrictEqual([error._tag, error.status, error.retry_action], ["conflict", 409, "wait"])
        yield* pass(2_000)
        const secret = secretOf(yield* Fiber.join(first))
        const second = yield* Effect.forkChild(rotate(id, key("two")))
        yield* pass(3_000)
        assert.notStrictEqual(secretOf(yield* Fiber.join(second)), secret)
      }),
    { look_up_takes_ms: () => 3_000 }
  )

  testWebhooks("leaves only the new secret after a sandbox reset", () =>
    Effect.gen(function* () {
      const { id } = yield* create()
      yield* advance(2 * 86_400)
      assert.property(yield* rotate(id), "previous_secret_expires_at")
      yield* advance(3 * 86_400)
      yield* reset()
      assert.notProperty((yield* list()).event_subscriptions[0], "previous_secret_expires_at")
    })
  )
})

describe("an unfinished rotation", () => {
  testWebhooks(
    "blocks other rotations for ten minutes, but can be finished by a retry with its key",
    (endpoints) =>
      Effect.gen(function* () {
        const { id, signing_secret } = yield* create()
        const error = yield* refusal(rotate(id, key("one")))
        assert.deepStrictEqual([error._tag, error.retry_after_seconds], ["service_unavailable", 5])
        const begun = (yield* stored).find((record) => record.id === id)?.body ?? "{}"
        yield* start()
        yield* runDue
        assert.deepStrictEqual(
          yield* signers(endpoints.sent[0] ?? assert.fail("nothing was sent"), [signing_secret ?? ""]),
          [0]
        )
        yield* advance(598)
        assert.strictEqual((yield* refusal(rotate(id, key("two")))).retry_action, "wait")
        yield* pass(1_999)
        const rotated = yield* rotate(id, key("one"))
        assert.isNotNull(rotated.signing_secret)
        const finished = (yield* stored).find((record) => record.id === id)?.body ?? "{}"
        assert.strictEqual(JSON.parse(finished).secrets[0].sealed, JSON.parse(begun).rotation.sealed)
      }),
    { lookUp: (_, nth) => (nth === 2 ? "unavailable" : "public") }
  )

  testWebhooks(
    "expires after ten minutes, and another rotation can start",
    () =>
      Effect.gen(function* () {
        const { id } = yield* create()
        yield* refusal(rotate(id, key("one")))
        yield* advance(599)
        assert.strictEqual((yield* refusal(rotate(id, key("two")))).retry_action, "wait")
        yield* advance(1)
        // Its key can no longer be used, like an expired create's key, whatever other calls did in the meantime.
        for (const _ of [1, 2]) {
          const late = yield* refusal(rotate(id, key("one")))
          assert.deepStrictEqual([late._tag, late.status, late.retry_action], ["conflict", 409, "use_new_request_key"])
          assert.isNotNull((yield* rotate(id)).signing_secret)
        }
      }),
    { lookUp: (_, nth) => (nth === 2 ? "unavailable" : "public") }
  )

  testWebhooks(
    "is dropped if the endpoint's host is no longer public",
    () =>
      Effect.gen(function* () {
        const { id } = yield* create()
        assert.deepStrictEqual(pathsOf(yield* refusal(rotate(id, key("one")))), ["url"])
        assert.isNotNull((yield* rotate(id, key("one"))).signing_secret)
        assert.isNotNull((yield* rotate(id, key("two"))).signing_secret)
      }),
    { lookUp: (_, nth) => (nth === 2 ? "refused" : "public") }
  )

  testWebhooks(
    "does not block rotations after a reset moves the clock back",
    () =>
      Effect.gen(function* () {
        const made = yield* create()
        yield* advance(7 * 86_400)
        yield* rotate(made.id, key("one"))
        yield* refusal(rotate(made.id, key("two")))
        yield* reset()
        assert.notProperty((yield* list()).event_subscriptions[0], "previous_secret_expires_at")
        assert.isNotNull((yield* rotate(made.id, key("three"))).signing_secret)
      }),
    { lookUp: (_, nth) => (nth === 3 ? "unavailable" : "public") }
  )
})

describe("a new secret whose response was lost", () => {
  // The host dies after the call has done its work, but before its response is stored.

  testScripted("is returned when the call is retried", () => {
    const dying = { armed: false }
    const around = (
      storage: Parameters<NonNullable<NonNullable<Parameters<typeof testWebhooks>[3]>["around"]>>[0]
    ) => ({
      ...storage,
      commit: (change: Parameters<typeof storage.commit>[0]) =>
        dying.armed && change.writes.some(({ body }) => body.includes('"state":"done"'))
          ? Effect.die(new Error("the host dies on purpose"))
          : storage.commit(change)
    })
    return {
      around,
      body: (endpoints) =>
        Effect.gen(function* () {
          dying.armed = true
          assert.strictEqual((yield* refusal(create({}, key("one"))))._tag, "internal_error")
          dying.armed = false
          yield* pass(120_000)
          const made = yield* create({}, key("one"))
          assert.lengthOf((yield* list()).event_subscriptions, 1)
          dying.armed = true
          yield* refusal(rotate(made.id, key("one")))
          dying.armed = false
          yield* pass(120_000)
          const rotated = yield* rotate(made.id, key("one"))
          yield* start()
          yield* runDue
          const sent = endpoints.sent[0] ?? assert.fail("nothing was sent")
          assert.deepStrictEqual(yield* signers(sent, [secretOf(made), secretOf(rotated)]), [0, 1])
        })
    }
  })
})
