import { assert, describe } from "@effect/vitest"
import { verifyWebhook } from "@quotewire/core"
import { Clock, Effect } from "effect"
import { anotherHost, live, pass, runDue, start, work } from "../../packages/core/test/support/world.ts"
import {
  answered,
  confirmed,
  create,
  health,
  list,
  log,
  replay,
  rotate,
  type Sent,
  testWebhooks,
  update,
  url
} from "../../packages/core/test/webhooks/support.ts"

/*
 * Subscriptions that change while deliveries are in progress.
 */

const dayMs = 86_400_000
const movedTo = "https://hooks.acme.dev/moved"

/** The indexes of the secrets that signed the latest POST. It must carry exactly one signature for each. */
const signersOf = Effect.fnUntraced(function* (sent: ReadonlyArray<Sent>, secrets: ReadonlyArray<string | null>) {
  const { body, headers } = sent.at(-1)?.request ?? assert.fail("nothing was sent")
  const now_seconds = Number(headers["webhook-timestamp"])
  const places: Array<number> = []
  for (const [place, secret] of secrets.entries()) {
    const { ok } = yield* Effect.promise(() => verifyWebhook({ secrets: [secret ?? ""], headers, body, now_seconds }))
    if (ok) places.push(place)
  }
  assert.lengthOf((headers["webhook-signature"] ?? "").split(" "), places.length)
  return places
})

describe("a subscription that is edited on host A", () => {
  const endpoint = { isUp: true }
  testWebhooks(
    "uses the new URL and secret immediately, even if host B cached the old values",
    (endpoints) =>
      Effect.gen(function* () {
        const there = yield* anotherHost({ webhooks: endpoints.layer })
        const made = yield* create({}, live)
        const sendThere = Effect.andThen(there(start({}, live)), there(runDue))
        for (let nth = 0; nth < 20; nth++) yield* sendThere
        endpoint.isUp = false
        yield* sendThere
        const retried = endpoints.sent.at(-1)?.request
        endpoint.isUp = true

        yield* update(made.id, { url: movedTo }, live)
        const rotated = yield* rotate(made.id, live)
        yield* pass(5_000)
        yield* there(runDue)
        const retry = endpoints.sent.at(-1)?.request
        assert.deepStrictEqual([retry?.url, retry?.body], [movedTo, retried?.body])
        const secrets = [made.signing_secret, rotated.signing_secret]
        assert.deepStrictEqual(yield* signersOf(endpoints.sent, secrets), [0, 1])

        yield* sendThere
        assert.strictEqual(endpoints.sent.at(-1)?.request.url, movedTo)
        const before = endpoints.sent.length
        yield* update(made.id, { event_types: ["quote.expired"] }, live)
        yield* sendThere
        assert.lengthOf(endpoints.sent, before)
      }),
    { send: () => (endpoint.isUp ? confirmed : answered(500)) }
  )
})

describe("a second secret rotation", () => {
  testWebhooks("keeps the second secret valid for one more day if the first secret has expired", (endpoints) =>
    Effect.gen(function* () {
      const first = yield* create({}, live)
      const second = yield* rotate(first.id, live)
      yield* pass(dayMs + 3_600_000)
      yield* start({}, live)
      yield* runDue
      const secrets = [first.signing_secret, second.signing_secret]
      assert.deepStrictEqual(yield* signersOf(endpoints.sent, secrets), [1])

      const third = yield* rotate(first.id, live)
      const now = yield* Clock.currentTimeMillis
      assert.strictEqual(third.previous_secret_expires_at, new Date(now + dayMs).toISOString())
      const all = [...secrets, third.signing_secret]
      const sign = Effect.gen(function* () {
        yield* start({}, live)
        yield* runDue
        return yield* signersOf(endpoints.sent, all)
      })
      assert.deepStrictEqual(yield* sign, [1, 2])
      yield* pass(dayMs - 1_000)
      assert.deepStrictEqual(yield* sign, [1, 2])
      yield* pass(1_000)
      assert.deepStrictEqual(yield* sign, [2])
    })
  )
})

describe("a webhook attempt during which delivery is turned off and on again", () => {
  const slowMs = 12_000
  const endpoint = { isUp: false, slow: "none" }
  const isSlow = (body: string) => body.includes(endpoint.slow)
  testWebhooks(
    "leaves the delivery cancelled, and allows a replay of the event",
    (endpoints) =>
      Effect.gen(function* () {
        const { id } = yield* create({}, live)
        yield* start({}, live)
        yield* runDue
        yield* pass(5 * dayMs)
        // Its attempt is in progress when the retry of the other delivery turns delivery off.
        endpoint.slow = (yield* start({}, live)).id
        yield* work
        yield* pass(1_000)
        assert.strictEqual((yield* health(id, live)).state, "disabled")
        const open = yield* log(id, live)
        assert.deepStrictEqual(
          open.map(({ status, attempts }) => [status, attempts.length]),
          [
            ["cancelled", 0],
            ["cancelled", 2]
          ]
        )

        endpoint.isUp = true
        yield* update(id, { url }, live)
        yield* pass(slowMs)
        const [late] = yield* log(id, live)
        assert.deepStrictEqual([late?.status, late?.attempts[0]?.status], ["cancelled", "succeeded"])

        const before = endpoints.sent.length
        yield* replay(id, late?.event_id ?? "", live)
        yield* start({}, live)
        yield* pass(600_000)
        assert.deepStrictEqual(
          (yield* log(id, live)).map(({ status }) => status),
          ["succeeded", "succeeded", "cancelled"]
        )
        assert.lengthOf(endpoints.sent, before + 2)
        assert.isTrue((yield* list({}, live)).event_subscriptions[0]?.delivery_enabled)
      }),
    {
      send: ({ body }) => (endpoint.isUp || isSlow(body) ? confirmed : answered(500)),
      send_takes_ms: (_, { body }) => (isSlow(body) ? slowMs : 0)
    }
  )
})
