import { assert, describe, it } from "@effect/vitest"
import { Signature, WebhookAddress, WebhookSender } from "@quotewire/core"
import { Receiver } from "@quotewire/core/testing"
import { NodeReceiver } from "@quotewire/http/testing"
import { Context, Effect, Layer } from "effect"
import { Mac } from "effect/crypto"
import * as NodeCrypto from "../../src/NodeCrypto.ts"
import * as NodeWebhookSender from "../../src/webhooks/NodeWebhookSender.ts"

const secret = Signature.makeSecret(new Uint8Array(32).fill(7))
const body = JSON.stringify({ id: "evt_1", type: "webhook.test", schema_version: "2026-09-26" })
const policy = { ...WebhookAddress.publicOnly, allow: WebhookAddress.readNetworks("127.0.0.1/32") ?? [] }

/** Sends a genuine delivery to a url, over a real socket. */
const deliver = Effect.fnUntraced(function* (url: string, deadline_ms = 10_000) {
  const { send } = Context.get(yield* Layer.build(NodeWebhookSender.layer({ policy })), WebhookSender.WebhookSender)
  const timestamp = Math.floor(Date.now() / 1_000)
  const signature = yield* Effect.flatMap(Mac.Mac, (mac) => Signature.sign(mac, [secret], "evt_1", timestamp, body))
  return yield* send({ url, headers: Signature.headersOf({ id: "evt_1", timestamp, signature }), body, deadline_ms })
}, Effect.provide(NodeCrypto.layer))

describe("a test receiver on an HTTP server", () => {
  it.live.each([
    { script: "succeed", respond: Receiver.succeed, outcome: [204, null] },
    { script: "fail", respond: Receiver.fail(429, { "retry-after": "1" }), outcome: [429, null] },
    { script: "redirect", respond: Receiver.redirect("http://127.0.0.1:1/"), outcome: [307, null] },
    { script: "a slow body", respond: Receiver.slowBody(3, 5), outcome: [200, null] },
    {
      script: "a body that is too slow",
      respond: Receiver.slowBody(1_000, 5),
      deadline_ms: 1_000,
      outcome: [200, "timeout"]
    },
    { script: "hang", respond: Receiver.hang, deadline_ms: 150, outcome: [null, "timeout"] },
    { script: "reset", respond: Receiver.reset, outcome: [null, "connection_failed"] },
    { script: "garbage", respond: Receiver.garbage, outcome: [null, "bad_response"] }
  ])("follows the script: $script", ({ respond, deadline_ms, outcome }) =>
    Effect.gen(function* () {
      const receiver = yield* NodeReceiver.start({ secrets: [secret], script: { otherwise: respond } })
      const sent = yield* deliver(receiver.url, deadline_ms)
      assert.deepStrictEqual<ReadonlyArray<unknown>>([sent.response_status_code, sent.failure], outcome)
      assert.deepStrictEqual(
        receiver.arrivals().map(({ event, respond }) => ({ type: event?.type, respond })),
        [{ type: "webhook.test", respond }]
      )
    }).pipe(Effect.scoped)
  )

  it.live("answers 400 to an unsigned request from another program", () =>
    Effect.gen(function* () {
      const { url, arrivals } = yield* NodeReceiver.start({ secrets: [secret] })
      const answer = yield* Effect.promise(() => fetch(url, { method: "POST", body: "{}" }))
      assert.strictEqual(answer.status, 400)
      assert.deepStrictEqual(arrivals()[0]?.verification, { ok: false, reason: "missing_header" })
    }).pipe(Effect.scoped)
  )

  it("can be opened and closed without Effect, even while a request hangs", async () => {
    const receiver = Receiver.make({ secrets: [secret], script: { otherwise: Receiver.hang } })
    const { url, close } = await NodeReceiver.open(receiver)
    const sending = Effect.runPromise(Effect.scoped(deliver(url)))
    await Effect.runPromise(receiver.until((arrivals) => arrivals.length === 1))
    await close()
    assert.strictEqual((await sending).failure, "connection_failed")
    const again = await fetch(url).catch(() => "closed")
    assert.strictEqual(again, "closed")
  })

  it("reports a port in use", async () => {
    const { url, close } = await NodeReceiver.open(Receiver.make())
    const second = await NodeReceiver.open(Receiver.make(), { port: Number(new URL(url).port) }).catch(
      (error: Error) => error.message
    )
    assert.match(String(second), /EADDRINUSE/)
    await close()
  })
})
