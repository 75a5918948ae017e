import { assert, describe, it, layer, vi } from "@effect/vitest"
import { Signature, WebhookAddress, WebhookSender } from "@quotewire/core"
import { NodeCrypto, NodeWebhookSender } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Clock, Context, Effect, Layer } from "effect"
import { Mac } from "effect/crypto"
import { Host, http } from "../e2e/host.ts"
import type { Keys } from "../e2e/support/Call.ts"
import * as Subscriber from "../e2e/support/subscriber.ts"
import { serveExpress } from "../examples/receivers/express.ts"
import { serveFastify } from "../examples/receivers/fastify.ts"
import { type Current, makeInbox, type Resource, type WebhookEvent } from "../examples/receivers/inbox.ts"
import { serveNode } from "../examples/receivers/node.ts"
import { catchUp, serviceAt } from "../examples/receivers/service.ts"
import { until } from "./support/eventually.ts"

/*
 * The receivers of the guide, each on a real server, with events from a real host and forgeries from a real sender.
 */

const receivers = [
  { name: "express.ts", serve: serveExpress },
  { name: "fastify.ts", serve: serveFastify },
  { name: "node.ts", serve: serveNode }
]

const policy = { ...WebhookAddress.publicOnly, allow: WebhookAddress.readNetworks("127.0.0.1/32") ?? [] }
const secretOf = (byte: number) => Signature.makeSecret(new Uint8Array(32).fill(byte))
const own = secretOf(1)

/** Starts one receiver, with the resources that it reads and the secrets that it accepts. */
const start = Effect.fnUntraced(function* (
  serve: (typeof receivers)[number]["serve"],
  read: (resource: Resource) => Promise<Current> = async ({ id, version }) => ({ id, version })
) {
  const state: { secrets: ReadonlyArray<string>; reads: Array<string> } = { secrets: [own], reads: [] }
  const inbox = makeInbox({
    secrets: () => state.secrets,
    read: (resource) => {
      state.reads.push(`${resource.id} ${resource.version}`)
      return read(resource)
    }
  })
  const { url } = yield* Effect.acquireRelease(
    Effect.promise(() => serve(inbox, 0)),
    ({ close }) => Effect.promise(close)
  )
  return { url, inbox, state }
})

/** A delivery sent manually, validly signed by default. */
interface Sent {
  readonly secrets?: ReadonlyArray<string>
  readonly age_seconds?: number
  /** How the event is serialized; its result is signed. */
  readonly write?: (event: WebhookEvent) => string
  /** Alters the body after it is signed. */
  readonly alter?: (body: string) => string
}

/** Sends what the service never would, using the service's own sender. */
const deliver = Effect.fnUntraced(function* (url: string, event: WebhookEvent, sent: Sent = {}) {
  const { send } = Context.get(yield* Layer.build(NodeWebhookSender.layer({ policy })), WebhookSender.WebhookSender)
  const { secrets = [own], age_seconds = 0, write = JSON.stringify, alter = (body) => body } = sent
  const timestamp = Math.floor((yield* Clock.currentTimeMillis) / 1_000) - age_seconds
  const body = write(event)
  const signature = yield* Signature.sign(yield* Mac.Mac, secrets, event.id, timestamp, body)
  const headers = {
    "content-type": "application/json",
    ...Signature.headersOf({ id: event.id, timestamp, signature })
  }
  return (yield* send({ url, headers, body: alter(body) })).response_status_code
}, Effect.provide(NodeCrypto.layer))

const event = (id: string, version: number, more: Partial<WebhookEvent> = {}): WebhookEvent => ({
  id,
  type: "quote.updated",
  resource: { type: "quote", id: "qt_1", version },
  ...more
})

describe.each(receivers)("the example receiver $name", ({ serve }) => {
  it.live("confirms and handles genuine deliveries", () =>
    Effect.gen(function* () {
      const { url, inbox, state } = yield* start(serve)
      assert.strictEqual(yield* deliver(url, event("evt_1", 4)), 204)
      yield* until(() => inbox.held().get("qt_1")?.version === 4)
      assert.deepStrictEqual(state.reads, ["qt_1 4"])
    })
  )

  it.live("answers 400 to altered, old, early, foreign or unsigned deliveries", () =>
    Effect.gen(function* () {
      const { url, inbox, state } = yield* start(serve)
      const alter = (body: string) => body.replace('"version":4', '"version":9')
      assert.strictEqual(yield* deliver(url, event("evt_1", 4), { alter }), 400)
      assert.strictEqual(yield* deliver(url, event("evt_1", 4), { alter: (body) => `${body} ` }), 400)
      assert.strictEqual(yield* deliver(url, event("evt_1", 4), { age_seconds: 302 }), 400)
      assert.strictEqual(yield* deliver(url, event("evt_1", 4), { age_seconds: -302 }), 400)
      assert.strictEqual(yield* deliver(url, event("evt_1", 4), { secrets: [secretOf(9)] }), 400)
      const bare = yield* Effect.promise(() => fetch(url, { method: "POST", body: JSON.stringify(event("evt_1", 4)) }))
      assert.strictEqual(bare.status, 400)
      assert.strictEqual(yield* Effect.promise(() => bare.text()), "")
      const empty = yield* Effect.promise(() => fetch(url, { method: "POST" }))
      assert.strictEqual(empty.status, 400)
      assert.deepStrictEqual(state.reads, [])
      // None of the refused deliveries used up the id, and an age of 298 seconds is accepted.
      assert.strictEqual(yield* deliver(url, event("evt_1", 4), { age_seconds: 298 }), 204)
      yield* until(() => inbox.held().get("qt_1")?.version === 4)
    })
  )

  it.live("verifies the raw bytes of the body", () =>
    Effect.gen(function* () {
      const { url, inbox } = yield* start(serve)
      // Parsing and reserializing changes the bytes.
      const write = (event: WebhookEvent) => `${JSON.stringify({ ...event, note: "caf\u00e9 \u{1f697}" }, null, 2)}\n`
      assert.strictEqual(yield* deliver(url, event("evt_1", 2), { write }), 204)
      yield* until(() => inbox.held().has("qt_1"))
    })
  )

  it.live("refuses a body that is too large for a webhook", () =>
    Effect.gen(function* () {
      const { url, state } = yield* start(serve)
      const answer = yield* Effect.promise(() => fetch(url, { method: "POST", body: "x".repeat(100_000) }))
      assert.strictEqual(answer.status, 413)
      assert.deepStrictEqual(state.reads, [])
    })
  )

  it.live("accepts either of two signatures and either of two secrets during a rotation", () =>
    Effect.gen(function* () {
      const { url, state } = yield* start(serve)
      const both = [secretOf(2), own]
      assert.strictEqual(yield* deliver(url, event("evt_1", 1), { secrets: both }), 204)
      state.secrets = both
      assert.strictEqual(yield* deliver(url, event("evt_2", 2), { secrets: [own] }), 204)
      state.secrets = [secretOf(2)]
      assert.strictEqual(yield* deliver(url, event("evt_3", 3), { secrets: both }), 204)
      assert.strictEqual(yield* deliver(url, event("evt_4", 4), { secrets: [own] }), 400)
    })
  )

  it.live("handles a duplicate delivery only once", () =>
    Effect.gen(function* () {
      // The read is stale, so the version alone would not show that the event is already processed.
      const { url, inbox, state } = yield* start(serve, async ({ id, version }) => ({ id, version: version - 1 }))
      for (const _ of [1, 2, 3]) assert.strictEqual(yield* deliver(url, event("evt_1", 4)), 204)
      assert.strictEqual(yield* deliver(url, event("evt_2", 5)), 204)
      yield* until(() => inbox.held().get("qt_1")?.version === 4)
      assert.deepStrictEqual(state.reads, ["qt_1 4", "qt_1 5"])
    })
  )

  it.live("reads a resource only for newer versions, and never returns to an older version", () =>
    Effect.gen(function* () {
      // The read may be newer than the event or, from a lagging replica, older than the stored state.
      const read = async ({ id, version }: Resource) => ({
        id,
        version: version === 3 ? 5 : version === 6 ? 2 : version
      })
      const { url, inbox, state } = yield* start(serve, read)
      for (const version of [3, 1, 4, 5, 6]) {
        assert.strictEqual(yield* deliver(url, event(`evt_${version}`, version)), 204)
      }
      yield* until(() => state.reads.length === 2)
      assert.deepStrictEqual(state.reads, ["qt_1 3", "qt_1 6"])
      assert.strictEqual(inbox.held().get("qt_1")?.version, 5)
      yield* deliver(url, event("evt_7", 7))
      yield* until(() => inbox.held().get("qt_1")?.version === 7)
    })
  )

  it.live("confirms events of unknown types and test events", () =>
    Effect.gen(function* () {
      const { url, inbox, state } = yield* start(serve)
      const { resource: _, ...test } = event("evt_test1", 1, { type: "webhook.test" })
      assert.strictEqual(yield* deliver(url, test), 204)
      assert.strictEqual(yield* deliver(url, event("evt_1", 9, { type: "policy.bound" })), 204)
      assert.strictEqual(yield* deliver(url, event("evt_2", 3)), 204)
      yield* until(() => inbox.held().get("qt_1")?.version === 3)
      assert.deepStrictEqual(state.reads, ["qt_1 3"])
    })
  )

  it.live("responds before it reads the resource", () =>
    Effect.gen(function* () {
      const { url, state } = yield* start(serve, () => new Promise(() => {}))
      assert.strictEqual(yield* deliver(url, event("evt_1", 1)), 204)
      assert.strictEqual(yield* deliver(url, event("evt_2", 2)), 204)
      yield* until(() => state.reads.length === 1)
    })
  )

  it.live("logs a failed event, and handles the event's next delivery", () =>
    Effect.gen(function* () {
      const errors = vi.spyOn(console, "error").mockImplementation(() => {})
      let isDown = true
      const { url, inbox } = yield* start(serve, async ({ id, version }) => {
        if (isDown) throw new Error("down")
        return { id, version }
      })
      assert.strictEqual(yield* deliver(url, event("evt_1", 1)), 204)
      yield* until(() => errors.mock.calls.length === 1)
      assert.strictEqual(errors.mock.calls[0]?.[0], "evt_1")
      errors.mockRestore()
      isDown = false
      assert.strictEqual(yield* deliver(url, event("evt_1", 1)), 204)
      yield* until(() => inbox.held().has("qt_1"))
    })
  )
})

layer(http(MemoryStorage.layer), { excludeTestServices: true })("receivers on a host", (it) => {
  const quoted = Effect.fnUntraced(function* (keys: Keys) {
    const id = yield* Subscriber.startRequest(keys)
    yield* Subscriber.advance(keys, 60)
    return id
  })

  const subscribed = Effect.fnUntraced(function* (serve: (typeof receivers)[number]["serve"]) {
    const host = yield* Host
    const keys = yield* host.newOrganization
    const service = serviceAt(host.base_url, keys.server)
    const receiver = yield* start(serve, service.read)
    const { body } = yield* host.call(keys, "create_event_subscription", {
      url: receiver.url,
      event_types: Subscriber.everyType
    })
    receiver.state.secrets = [body.signing_secret]
    const subscription = Subscriber.of(keys, body.id)
    const delivered = subscription.logUntil(
      (log) => log.length > 0 && log.every(({ status }) => status === "succeeded")
    )
    return { ...receiver, ...subscription, host, keys, service, id: String(body.id), delivered }
  })

  it.effect.each(receivers)("the example receiver $name ends up with the same data as the service", ({ serve }) =>
    Effect.gen(function* () {
      const { host, keys, delivered, attempts, inbox, state } = yield* subscribed(serve)
      const id = yield* quoted(keys)
      const log = yield* delivered
      const now = yield* host.call(keys, "get_quote_request", { id, wait_seconds: 0 })
      yield* until(() => inbox.held().size === 4)
      yield* until(() => inbox.held().get(id)?.version === now.body.quote_request.version)
      const reads = state.reads.length
      // All events again, duplicated and reversed: no further reads.
      for (const scenario of ["duplicated", "reversed"]) yield* host.call(keys, "replay_events", { scenario })
      for (const { event_id } of log) yield* Subscriber.askUntil(attempts(event_id), (made) => made.length === 4)
      yield* Effect.promise(() => inbox.take({ id: "evt_after_all_others", type: "none" }))
      assert.strictEqual(state.reads.length, reads)
    })
  )

  it.effect.each(receivers)(
    "the example receiver $name works throughout a rotation, with the old secret, both or the new secret",
    ({ serve }) =>
      Effect.gen(function* () {
        const { host, keys, id, delivered, state } = yield* subscribed(serve)
        const old = state.secrets
        const rotated = yield* host.call(keys, "rotate_event_subscription_secret", { id })
        for (const secrets of [old, [...old, rotated.body.signing_secret], [rotated.body.signing_secret]]) {
          state.secrets = secrets
          yield* host.call(keys, "send_test_event", { id })
          yield* delivered
        }
      })
  )

  it.effect("an example receiver catches up with events that no webhook delivered", () =>
    Effect.gen(function* () {
      const { host, keys, id, inbox, service } = yield* subscribed(serveNode)
      yield* host.call(keys, "disable_event_subscription", { id })
      const saved: Array<string> = []
      const cursor = { load: () => saved.at(-1) ?? null, save: (next: string) => void saved.push(next) }
      const feed = { feed: service.feed, cursor }
      const request = yield* quoted(keys)
      assert.strictEqual(inbox.held().size, 0)
      yield* Effect.promise(() => catchUp(inbox, feed))
      assert.strictEqual(inbox.held().size, 4)
      assert.strictEqual(inbox.held().get(request)?.version, 5)
      assert.lengthOf(saved, 1)
      // Caught up: an empty page saves nothing.
      yield* Effect.promise(() => catchUp(inbox, feed))
      assert.lengthOf(saved, 1)
      // After 31 days the cursor is expired: everything stored is read again, and the feed from its oldest event.
      yield* host.call(keys, "force_expiry", {})
      yield* host.call(keys, "advance_time", { seconds: 31 * 86_400 })
      yield* Effect.promise(() => catchUp(inbox, feed))
      const quote = [...inbox.held().keys()].find((held) => held.startsWith("qt_")) ?? ""
      const read = yield* host.call(keys, "get_quote", { id: quote })
      assert.strictEqual(read.body.status, "inactive")
      assert.strictEqual(inbox.held().get(quote)?.version, read.body.version)
    })
  )
})

/** Runs a program and returns the lines that it prints. */
const run = async (program: () => Promise<unknown>): Promise<ReadonlyArray<string>> => {
  const log = vi.spyOn(console, "log").mockImplementation(() => {})
  try {
    await program()
    return log.mock.calls.map((parts) => parts.join(" "))
  } finally {
    log.mockRestore()
  }
}

describe("the guide's programs", () => {
  it("demo.ts prints that every delivery succeeded", async () => {
    assert.deepStrictEqual(await run(() => import("../examples/receivers/demo.ts")), [
      "quote_request.completed succeeded",
      "quote.created succeeded",
      "quote.created succeeded",
      "quote.created succeeded"
    ])
  })

  it("scripted.ts receives an event repeatedly until the event is confirmed", async () => {
    assert.deepStrictEqual(await run(() => import("../examples/receivers/scripted.ts")), [
      "webhook.test false reset",
      "webhook.test true answer",
      "webhook.test true answer",
      "webhook.test true answer",
      "one event"
    ])
  })
})
