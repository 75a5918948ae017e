import { assert, describe, it } from "@effect/vitest"
import { Signature, WebhookSender } from "@quotewire/core"
import { Receiver } from "@quotewire/core/testing"
import { Effect, Fiber, Layer } from "effect"
import { Mac, SecureRandom } from "effect/crypto"
import { TestClock } from "effect/testing"

const secretOf = (byte: number) => Signature.makeSecret(new Uint8Array(32).fill(byte))
const [first, second, foreign] = [secretOf(1), secretOf(2), secretOf(3)]
const webCrypto = Mac.layerWebCrypto.pipe(Layer.provide(SecureRandom.layerWebCrypto))

/** The parts of a delivery. By default a receiver trusts it. */
interface Sent {
  readonly secrets?: ReadonlyArray<string>
  readonly id?: string
  readonly type?: string
  readonly timestamp?: number
  readonly resource?: { readonly id: string; readonly version: number }
}

const signed = Effect.fnUntraced(function* (sent: Sent) {
  const { secrets = [first], id = "evt_1", type = "quote.created", timestamp = 0, resource } = sent
  const event = {
    id,
    type,
    schema_version: "2026-09-26",
    ...(resource !== undefined && { resource: { type: "quote", ...resource } })
  }
  const body = JSON.stringify(event)
  const signature = yield* Signature.sign(yield* Mac.Mac, secrets, id, timestamp, body)
  return { headers: Signature.headersOf({ id, timestamp, signature }), body }
}, Effect.provide(webCrypto))

const send = (receiver: Receiver.Receiver, sent: Sent = {}) => Effect.flatMap(signed(sent), receiver.handle)

const statusOf = (respond: Receiver.Respond) => (respond.does === "answer" ? respond.status : respond.does)

describe("a test receiver", () => {
  it.effect("confirms genuine deliveries, and records their content", () =>
    Effect.gen(function* () {
      const receiver = Receiver.make({ secrets: [first] })
      const resource = { id: "qt_1", version: 3 }
      assert.deepStrictEqual(yield* send(receiver, { resource }), Receiver.succeed)
      const [arrival] = receiver.arrivals()
      assert.deepStrictEqual(arrival?.verification, { ok: true, id: "evt_1", timestamp: 0 })
      assert.deepStrictEqual(arrival?.event, {
        id: "evt_1",
        type: "quote.created",
        schema_version: "2026-09-26",
        resource: { type: "quote", ...resource }
      })
      assert.deepStrictEqual(JSON.parse(arrival?.text ?? ""), arrival?.event)
      assert.isFalse(arrival?.isDuplicate)
      assert.isFalse(arrival?.isLate)
    })
  )

  it.effect("accepts bodies as text and as bytes", () =>
    Effect.gen(function* () {
      const receiver = Receiver.make({ secrets: [first] })
      const { headers, body } = yield* signed({})
      yield* receiver.handle({ headers, body: new TextEncoder().encode(body) })
      assert.strictEqual(receiver.arrivals()[0]?.text, body)
      assert.isTrue(receiver.arrivals()[0]?.verification.ok)
    })
  )

  it.effect("responds with 400 to deliveries that are not genuine, and explains why", () =>
    Effect.gen(function* () {
      const receiver = Receiver.make({ secrets: [first], script: { in_order: [Receiver.fail(503)] } })
      yield* TestClock.setTime(1_000_000)
      const genuine = yield* signed({ timestamp: 1_000 })
      const altered = { ...genuine, body: genuine.body.replace("created", "expired") }
      const answers = [
        yield* send(receiver, { secrets: [foreign], timestamp: 1_000 }),
        yield* receiver.handle(altered),
        yield* receiver.handle({ ...genuine, headers: {} }),
        yield* send(receiver, { timestamp: 699 }),
        yield* send(receiver, { timestamp: 1_301 })
      ]
      assert.deepStrictEqual(answers.map(statusOf), [400, 400, 400, 400, 400])
      assert.deepStrictEqual(
        receiver.arrivals().map(({ verification }) => (verification.ok ? "ok" : verification.reason)),
        ["wrong_signature", "wrong_signature", "missing_header", "timestamp_too_old", "timestamp_too_new"]
      )
      assert.deepStrictEqual(receiver.ids(), [])
      // The script applies only to genuine deliveries.
      assert.strictEqual(statusOf(yield* send(receiver, { timestamp: 1_000 })), 503)
    })
  )

  it.effect("uses the runtime's clock, or a given clock", () =>
    Effect.gen(function* () {
      const here = Receiver.make({ secrets: [first] })
      yield* TestClock.setTime(1_301_000)
      assert.strictEqual(statusOf(yield* send(here, { timestamp: 1_000 })), 400)
      assert.strictEqual(statusOf(yield* send(here, { timestamp: 1_001 })), 204)
      const elsewhere = Receiver.make({ secrets: [first], now_seconds: () => 1_300 })
      assert.strictEqual(statusOf(yield* send(elsewhere, { timestamp: 1_000 })), 204)
    })
  )

  it.effect("accepts several secrets, which can be changed later", () =>
    Effect.gen(function* () {
      const receiver = Receiver.make()
      assert.strictEqual(statusOf(yield* send(receiver)), 400)
      receiver.trust(first, second)
      for (const secrets of [[first], [second], [foreign, second]]) {
        assert.strictEqual(statusOf(yield* send(receiver, { secrets })), 204)
      }
      receiver.trust(second)
      assert.strictEqual(statusOf(yield* send(receiver, { secrets: [first] })), 400)
      assert.strictEqual(statusOf(yield* send(receiver, { secrets: [first, second] })), 204)
    })
  )

  it.effect("recognizes duplicates and outdated versions", () =>
    Effect.gen(function* () {
      const receiver = Receiver.make({ secrets: [first] })
      const deliveries: ReadonlyArray<readonly [id: string, resource: string, version: number]> = [
        ["evt_1", "qt_1", 1],
        ["evt_3", "qt_1", 3],
        ["evt_2", "qt_1", 2],
        ["evt_3", "qt_1", 3],
        ["evt_9", "qt_2", 1]
      ]
      // A forgery with a high version changes nothing.
      yield* send(receiver, { secrets: [foreign], id: "evt_8", resource: { id: "qt_2", version: 99 } })
      for (const [id, resource, version] of deliveries)
        yield* send(receiver, { id, resource: { id: resource, version } })
      const genuine = receiver.arrivals().filter(({ verification }) => verification.ok)
      assert.deepStrictEqual(
        genuine.map(({ isDuplicate }) => isDuplicate),
        [false, false, false, true, false]
      )
      assert.deepStrictEqual(
        genuine.map(({ isLate }) => isLate),
        [false, false, true, false, false]
      )
      assert.deepStrictEqual(receiver.ids(), ["evt_1", "evt_3", "evt_2", "evt_9"])
    })
  )

  it.effect("accepts a signed body that is not an event", () =>
    Effect.gen(function* () {
      const receiver = Receiver.make({ secrets: [first] })
      const signature = yield* Effect.flatMap(Mac.Mac, (mac) => Signature.sign(mac, [first], "evt_1", 0, "{")).pipe(
        Effect.provide(webCrypto)
      )
      const headers = Signature.headersOf({ id: "evt_1", timestamp: 0, signature })
      assert.deepStrictEqual(yield* receiver.handle({ headers, body: "{" }), Receiver.succeed)
      assert.isNull(receiver.arrivals()[0]?.event)
    })
  )

  it.effect("lets a test wait for deliveries", () =>
    Effect.gen(function* () {
      const receiver = Receiver.make({ secrets: [first] })
      const waiting = yield* Effect.forkChild(receiver.until((arrivals) => arrivals.length === 2))
      yield* Effect.yieldNow
      yield* send(receiver)
      assert.isUndefined(waiting.pollUnsafe())
      yield* send(receiver)
      assert.lengthOf(yield* Fiber.join(waiting), 2)
      assert.lengthOf(yield* receiver.until((arrivals) => arrivals.length > 0), 2)
    })
  )
})

describe("a receiver's script", () => {
  it.effect("uses the event type's list first, then the general list, then the default", () =>
    Effect.gen(function* () {
      const receiver = Receiver.make({
        secrets: [first],
        script: {
          by_type: { "quote.expired": [Receiver.fail(410), Receiver.reset] },
          in_order: [...Receiver.times(2, Receiver.fail(503)), Receiver.hang],
          otherwise: Receiver.redirect("https://elsewhere.example")
        }
      })
      const types = [
        "quote.created",
        "quote.expired",
        "quote.expired",
        "quote.created",
        "quote.expired",
        "quote.created"
      ]
      const answers = yield* Effect.forEach(types, (type) => send(receiver, { type }))
      assert.deepStrictEqual(answers.map(statusOf), [503, 410, "reset", 503, "hang", 307])
      assert.deepStrictEqual(
        receiver.arrivals().map(({ respond }) => respond),
        answers
      )
    })
  )

  it.effect("can be replaced", () =>
    Effect.gen(function* () {
      const receiver = Receiver.make({ secrets: [first], script: { otherwise: Receiver.fail(500) } })
      assert.strictEqual(statusOf(yield* send(receiver)), 500)
      receiver.play({})
      assert.strictEqual(statusOf(yield* send(receiver)), 204)
    })
  )
})

describe("receivers used as a webhook sender", () => {
  const url = "https://receiver.example/webhooks"
  const sendTo = (receiver: Receiver.Receiver, deadline_ms?: number) =>
    Effect.gen(function* () {
      const sender = yield* WebhookSender.WebhookSender
      const request = { url, ...(yield* signed({})), ...(deadline_ms !== undefined && { deadline_ms }) }
      const sending = yield* Effect.forkChild(sender.send(request))
      yield* receiver.until((arrivals) => arrivals.length > 0)
      yield* TestClock.adjust(60_000)
      return yield* Fiber.join(sending)
    }).pipe(Effect.provide(Receiver.layer({ [url]: receiver })))

  it.effect.each([
    { script: "succeed", respond: Receiver.succeed, outcome: [204, 0, null] },
    { script: "fail", respond: Receiver.fail(503), outcome: [503, 0, null] },
    { script: "redirect", respond: Receiver.redirect(url), outcome: [307, 0, null] },
    { script: "hang", respond: Receiver.hang, outcome: [null, 15_000, "timeout"] },
    { script: "reset", respond: Receiver.reset, outcome: [null, 0, "connection_failed"] },
    { script: "garbage", respond: Receiver.garbage, outcome: [null, 0, "bad_response"] },
    { script: "a slow body", respond: Receiver.slowBody(10, 1_000), outcome: [200, 10_000, null] },
    { script: "too slow a body", respond: Receiver.slowBody(10, 2_000), outcome: [200, 15_000, "timeout"] }
  ])("give the scripted response: $script", ({ respond, outcome }) =>
    Effect.gen(function* () {
      const sent = yield* sendTo(Receiver.make({ secrets: [first], script: { otherwise: respond } }))
      assert.deepStrictEqual([sent.response_status_code, sent.duration_ms, sent.failure], outcome)
    })
  )

  it.effect("respect a request's deadline", () =>
    Effect.gen(function* () {
      const receiver = Receiver.make({ secrets: [first], script: { otherwise: Receiver.hang } })
      assert.strictEqual((yield* sendTo(receiver, 2_000)).duration_ms, 2_000)
    })
  )

  it.effect("refuse every address that has no receiver", () =>
    Effect.gen(function* () {
      const sender = yield* WebhookSender.WebhookSender
      assert.strictEqual(yield* sender.lookUp(url), "public")
      assert.strictEqual(yield* sender.lookUp("https://elsewhere.example/"), "refused")
      const sent = yield* sender.send({ url: "https://elsewhere.example/", headers: {}, body: "" })
      assert.strictEqual(sent.failure, "refused_address")
    }).pipe(Effect.provide(Receiver.layer({ [url]: Receiver.make() })))
  )
})
