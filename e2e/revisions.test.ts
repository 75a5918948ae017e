import { assert, describe, it } from "@effect/vitest"
import { Revision, Storage } from "@quotewire/core"
import { ExampleApplications } from "@quotewire/core/testing"
import { NodeReceiver } from "@quotewire/http/testing"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect, Layer, type Scope } from "effect"
import { newer, older, two } from "../packages/core/test/calls/inventedRevision.ts"
import { Host, http } from "./host.ts"
import { pgStorage } from "./hosts.ts"
import type { Keys } from "./support/Call.ts"
import { askUntil } from "./support/subscriber.ts"

/** Runs a body against a host that serves these revisions, on the storage that all releases share. */
const release =
  (served: Revision.Served) =>
  <A, E, R>(body: Effect.Effect<A, E, R>) =>
    Effect.flatMap(Storage.Storage, (storage) =>
      Effect.provide(
        body,
        http(Layer.succeed(Storage.Storage, storage)).pipe(
          Layer.provide(Layer.succeed(Revision.ServedRevisions, served))
        ),
        { local: true }
      )
    )

/** A release that knows one revision, and the next release, which adds a newer revision. */
const before = release([{ date: older, differences: [] }])
const after = release(two)

/** A test of successive releases on one storage backend, in memory and in PostgreSQL. */
const testOnEveryStorage = (name: string, body: Effect.Effect<void, unknown, Storage.Storage | Scope.Scope>) =>
  it.live.each([
    { name: "in memory", storage: MemoryStorage.layer },
    { name: "in PostgreSQL", storage: pgStorage }
  ])(`${name} ($name)`, ({ storage }) => Effect.provide(Effect.scoped(body), Layer.fresh(storage)))

interface Sending {
  readonly key?: string
  readonly version?: string
  readonly body?: string
}

/** Sends a request, and reads its status with the revision, and its body. */
const send = (keys: Keys, target: string, { body, key = keys.server, version }: Sending = {}) =>
  Effect.flatMap(Host, ({ base_url }) =>
    Effect.promise(async () => {
      const response = await fetch(`${base_url}${target}`, {
        method: body === undefined ? "GET" : "POST",
        headers: {
          authorization: `Bearer ${key}`,
          ...(body !== undefined && { "content-type": "application/json", "idempotency-key": "once" }),
          ...(version !== undefined && { "service-version": version })
        },
        ...(body !== undefined && { body })
      })
      return {
        status_and_revision: `${response.status} ${response.headers.get("service-version")}`,
        body: await response.json()
      }
    })
  )

const newOrganization = Effect.flatMap(Host, (host) => host.newOrganization)
const starting = {
  line: "renters",
  consent_receipt_id: "receipt-0001",
  request_key: "the-first",
  application: ExampleApplications.smallest.renters
}

/**
 * The status and the revision that a request without the header gets after the release, given which kind of request came first
 * before the release.
 */
const toldAfter = Effect.fnUntraced(function* (target: string, sending: (keys: Keys) => Sending) {
  const keys = yield* before(
    Effect.tap(newOrganization, (keys) =>
      Effect.map(send(keys, target, sending(keys)), ({ status_and_revision }) => status_and_revision)
    )
  )
  return yield* after(Effect.map(send(keys, "/v1/sandbox"), ({ status_and_revision }) => status_and_revision))
})

type First = readonly [what: string, target: string, sending: (keys: Keys) => Sending]

const stores: ReadonlyArray<First> = [
  ["gets a response", "/v1/sandbox", () => ({})],
  ["starts a quote request", "/v1/quote-requests", () => ({ body: JSON.stringify(starting) })],
  ["is refused with 403", "/v1/events", ({ widget }) => ({ key: widget })],
  ["is refused with 404 for an unknown resource", "/v1/quotes/qt_x", () => ({})],
  ["is refused with 422", "/v1/events?limit=0", () => ({})],
  ["is refused with invalid_json", "/v1/quote-requests", () => ({ body: "{" })]
]

const storesNot: ReadonlyArray<First> = [
  ["is refused with 401", "/v1/sandbox", ({ server }) => ({ key: `${server.slice(0, -1)}-` })],
  ["is refused with 413", "/v1/quote-requests", () => ({ body: " ".repeat(300_000) })],
  ["is refused with invalid_version", "/v1/sandbox", () => ({ version: "2020-01-01" })],
  ["has an unknown path", "/v1/nothing", () => ({})],
  ["has a Service-Version header", "/v1/sandbox", () => ({ version: older })]
]

describe("an integration's pinned revision", () => {
  for (const [what, target, sending] of stores) {
    testOnEveryStorage(
      `is stored if the first request ${what}`,
      Effect.gen(function* () {
        assert.strictEqual(yield* toldAfter(target, sending), `200 ${older}`)
      })
    )
  }
  for (const [what, target, sending] of storesNot) {
    testOnEveryStorage(
      `is not stored if the first request ${what}`,
      Effect.gen(function* () {
        assert.strictEqual(yield* toldAfter(target, sending), `200 ${newer}`)
      })
    )
  }
})

describe("a caller pinned to an older revision", () => {
  testOnEveryStorage(
    "sees no change in requests, responses or webhooks, and can upgrade call by call",
    Effect.gen(function* () {
      const keys = yield* before(Effect.tap(newOrganization, (keys) => send(keys, "/v1/sandbox")))
      const receiver = yield* NodeReceiver.start()
      yield* after(
        Effect.gen(function* () {
          const host = yield* Host
          const { consent_receipt_id: paper, ...rest } = starting
          const olderInput = { ...rest, paper }
          const subscribing = { url: receiver.url, event_types: ["quote_request.queued", "quote.created"] }
          const subscribed = yield* send(keys, "/v1/event-subscriptions", { body: JSON.stringify(subscribing) })
          assert.strictEqual(subscribed.status_and_revision, `201 ${older}`)
          receiver.trust(subscribed.body.secret)
          // It sends the older form. The newer form is refused.
          const refused = yield* send(keys, "/v1/quote-requests", { body: JSON.stringify(starting) })
          assert.strictEqual(refused.status_and_revision, `422 ${older}`)
          // Consents come first: `paper` is the older revision's name for the receipt.
          assert.deepStrictEqual(
            refused.body.error.field_errors.map(({ path }: { path: string }) => path),
            ["paper", "consent_receipt_id"]
          )
          const started = yield* send(keys, "/v1/quote-requests", { body: JSON.stringify(olderInput) })
          assert.strictEqual(started.status_and_revision, `202 ${older}`)
          yield* host.call(keys, "advance_time", { seconds: 60 })

          // It reads the older form, or the newer form with a header on one call.
          const read = `/v1/quote-requests/${started.body.id}?wait_seconds=0`
          const inOld = yield* send(keys, read)
          const inNew = yield* send(keys, read, { version: newer })
          assert.deepStrictEqual(
            [inOld.status_and_revision, inNew.status_and_revision],
            [`200 ${older}`, `200 ${newer}`]
          )
          assert.notProperty(inOld.body.quotes[0], "evidence")
          assert.deepStrictEqual(inOld.body.quotes[0].proof, inNew.body.quotes[0].evidence)

          // Its feed and its webhooks have the older form, too.
          const feed = yield* send(keys, "/v1/events?limit=100")
          const newerFeed = yield* send(keys, "/v1/events?limit=100", { version: newer })
          assert.deepStrictEqual(
            feed.body.events.map((event: { product: string }) => event.product),
            newerFeed.body.events.map((event: { line: string }) => event.line)
          )
          const wanted = feed.body.events.filter(
            ({ type }: { type: string }) => type === "quote_request.queued" || type === "quote.created"
          )
          yield* askUntil(
            Effect.sync(() => receiver.arrivals().length),
            (count) => count === wanted.length
          )
          const bodies = receiver.arrivals().map(({ text }) => JSON.parse(text))
          assert.sameDeepMembers(
            bodies,
            wanted.map((event: object) => ({ ...event, schema_version: older }))
          )
          assert.isTrue(receiver.arrivals().every(({ verification }) => verification.ok))
          assert.strictEqual((yield* send(keys, "/v1/sandbox")).status_and_revision, `200 ${older}`)
        })
      )
    })
  )
})
