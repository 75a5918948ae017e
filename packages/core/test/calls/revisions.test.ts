import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import type * as Operation from "../../src/calls/Operation.ts"
import * as Pipeline from "../../src/calls/Pipeline.ts"
import type { AskedRevision } from "../../src/calls/Revision.ts"
import * as operations from "../../src/operations.ts"
import * as Change from "../../src/storage/Change.ts"
import { Storage } from "../../src/storage/Storage.ts"
import { World } from "../../src/testing/World.ts"
import * as Webhooks from "../../src/webhooks/WebhookOperations.ts"
import { RequestId } from "../../src/wire/Ids.ts"
import { advance, pathsOf, runDue, startOf, testInWorld } from "../support/world.ts"
import { bodyOf, testWebhooks, url } from "../webhooks/support.ts"
import { newer, older, olderRevision, two } from "./inventedRevision.ts"
import { release } from "./release.ts"

const both = { served: two }
const inOlder: AskedRevision = { header: older }
const inNewer: AskedRevision = { header: newer }

interface Asking {
  readonly idempotency_key?: string
  readonly body?: object
}

/** Calls an operation in a revision, and reads what a host would send. */
const ask = Effect.fnUntraced(function* <R>(
  operation: Operation.Operation<string, unknown, unknown, R>,
  revision: AskedRevision,
  { body = {}, idempotency_key }: Asking = {}
) {
  const { keys } = yield* World
  const reply = yield* Pipeline.call(operation, {
    request_id: RequestId.make("req_00000000000000000000000001"),
    credentials: { key: keys.sandbox.server, read_handle: null, address: "", keyless: false },
    revision,
    idempotency_key: idempotency_key ?? null,
    input: Effect.succeed(body)
  })
  return { body: JSON.parse(reply.text), revision: reply.revision, replayed: reply.replayed, text: reply.text }
})

/** The input of a start call as the older revision spells it. */
const olderStart = (changes: object = {}) => {
  const { consent_receipt_id, ...rest } = startOf()
  return { ...rest, paper: consent_receipt_id, ...changes }
}

const start = (revision: AskedRevision, body: object) => ask(operations.startQuoteRequest, revision, { body })
const names = (fields: object): ReadonlyArray<string> => Object.keys(fields)

describe("a call in an older revision", () => {
  testInWorld(
    "accepts and returns that revision's fields, and is otherwise unchanged",
    Effect.gen(function* () {
      const started = yield* start(inOlder, olderStart())
      assert.strictEqual(started.revision, older)
      yield* advance(60)
      const body = { id: started.body.id, wait_seconds: 0 }
      const inOld = yield* ask(operations.getQuoteRequest, inOlder, { body })
      const inNew = yield* ask(operations.getQuoteRequest, inNewer, { body })
      assert.deepStrictEqual([inOld.revision, inNew.revision], [older, newer])
      assert.deepStrictEqual(inOld.body.quote_request, inNew.body.quote_request)
      const [old] = inOld.body.quotes
      const [{ evidence, ...rest }] = inNew.body.quotes
      assert.deepStrictEqual(old, { ...rest, proof: evidence })
      const quote = yield* ask(operations.getQuote, inOlder, { body: { id: old.id } })
      assert.deepStrictEqual(quote.body, old)
    }),
    both
  )

  testInWorld(
    "returns events in the revision that it names, even if the workspace is pinned to a newer revision",
    Effect.gen(function* () {
      const list = (revision: AskedRevision) => ask(operations.listEvents, revision)
      yield* start(inNewer, startOf())
      assert.strictEqual((yield* list({ header: null })).revision, newer)
      const [event] = (yield* list(inOlder)).body.events
      assert.deepStrictEqual(names(event), ["id", "type", "occurred_at", "environment", "product", "resource"])
      const [same] = (yield* list("current")).body.events
      assert.deepStrictEqual(names(same), ["id", "type", "occurred_at", "environment", "line", "resource"])
    }),
    both
  )

  testInWorld(
    "rejects the newer revision's fields, and names wrong fields as in the older revision",
    Effect.gen(function* () {
      const refused = (revision: AskedRevision, body: object) =>
        Effect.map(Effect.flip(start(revision, body)), (error) =>
          "_tag" in error && error._tag === "invalid_input" ? pathsOf(error).toSorted() : assert.fail(String(error))
        )
      assert.deepStrictEqual(yield* refused(inOlder, olderStart({ paper: 7 })), ["paper"])
      assert.deepStrictEqual(yield* refused(inOlder, olderStart({ consent_receipt_id: "x" })), ["consent_receipt_id"])
      assert.deepStrictEqual(yield* refused(inNewer, startOf({ paper: "x" })), ["paper"])
      assert.deepStrictEqual(yield* refused(inNewer, startOf({ consent_receipt_id: 7 })), ["consent_receipt_id"])
    }),
    both
  )

  testInWorld(
    "returns capabilities that state the older revision's date",
    Effect.gen(function* () {
      const read = (revision: AskedRevision) => ask(operations.getCapabilities, revision, { body: { line: "pet" } })
      assert.strictEqual((yield* read(inOlder)).body.capabilities.revision, older)
      assert.strictEqual((yield* read(inNewer)).body.capabilities.revision, newer)
    }),
    both
  )
})

describe("a repeated call", () => {
  testInWorld(
    "returns the same quote request for the same request_key and input",
    Effect.gen(function* () {
      const input = olderStart()
      const first = yield* start(inOlder, input)
      const again = yield* start(inOlder, input)
      assert.strictEqual(again.text, first.text)
      const other = yield* Effect.flip(start(inOlder, { ...input, paper: "another-receipt" }))
      assert.strictEqual(other._tag, "conflict")
    }),
    both
  )

  const subscribing = { body: { url, event_types: ["quote.created"] }, idempotency_key: "once" }
  testWebhooks(
    "returns the first response in the retry's revision, without the signing secret",
    () =>
      Effect.gen(function* () {
        const create = (revision: AskedRevision) => ask(Webhooks.createEventSubscription, revision, subscribing)
        const first = yield* create(inOlder)
        const { secret, ...rest } = first.body
        assert.match(secret, /^whsec_/)
        const again = yield* create(inOlder)
        assert.deepStrictEqual([again.replayed, again.revision], [true, older])
        assert.deepStrictEqual(again.body, { ...rest, secret: null })
        const inNew = yield* create(inNewer)
        assert.deepStrictEqual([inNew.replayed, inNew.revision], [true, newer])
        assert.deepStrictEqual(inNew.body, { ...rest, signing_secret: null })
        assert.notInclude(inNew.text + again.text, secret)
      }),
    {},
    both
  )
})

describe("a call repeated after the release of a newer revision", () => {
  const before = release([{ date: older, differences: [] }])
  const after = release(two)

  testInWorld(
    "returns the first response unchanged, whatever revision the retry names",
    Effect.gen(function* () {
      const body = { scenario: "zero_quotes" }
      const select = (revision: AskedRevision) =>
        ask(operations.selectScenario, revision, { body, idempotency_key: "once" })
      const first = yield* before(select(inOlder))
      for (const revision of [inOlder, inNewer]) {
        assert.deepStrictEqual(yield* after(select(revision)), { ...first, replayed: true })
      }
    })
  )

  testInWorld(
    "returns the same request for the same request_key",
    Effect.gen(function* () {
      const input = olderStart()
      const started = yield* release([olderRevision])(start(inOlder, input))
      const again = yield* after(start(inOlder, input))
      assert.strictEqual(again.body.id, started.body.id)
      const other = yield* Effect.flip(after(start(inOlder, { ...input, paper: "another-receipt" })))
      assert.strictEqual(other._tag, "conflict")
    })
  )
})

describe("webhook bodies", () => {
  /** The pin of the sandbox as an earlier release stored it. */
  const pinned = Effect.gen(function* () {
    const { organization } = yield* World
    const id = organization.workspaces.sandbox
    const body = JSON.stringify({ revision: older })
    const pin = Change.record({ kind: "pin", id, version: 1, body, created_at: 0, updated_at: 0 })
    yield* (yield* Storage).commit(Change.make(id, { writes: [pin] }))
  })

  testWebhooks(
    "use the pinned revision, even if a subscribe, test or replay call names another revision",
    ({ sent }) =>
      Effect.gen(function* () {
        yield* pinned
        const subscribing = { body: { url, event_types: ["quote_request.queued"] }, idempotency_key: "a" }
        const { id } = (yield* ask(Webhooks.createEventSubscription, inNewer, subscribing)).body
        yield* start(inNewer, startOf())
        yield* runDue
        const delivered = bodyOf(sent[0] ?? assert.fail("nothing came"))
        const { product, schema_version, ...rest } = delivered
        assert.strictEqual(schema_version, older)
        // The feed uses the revision of its reader, not in the pinned one.
        const [event] = (yield* ask(operations.listEvents, inNewer)).body.events
        assert.deepStrictEqual(event, { ...rest, line: product })

        const test = yield* ask(Webhooks.sendTestEvent, inNewer, { body: { id }, idempotency_key: "b" })
        assert.strictEqual(test.body.event.schema_version, older)
        yield* ask(Webhooks.replayEventDelivery, inNewer, { body: { id, event_id: event.id }, idempotency_key: "c" })
        yield* runDue
        const [first, ...later] = sent.map(({ request }) => request.body)
        assert.lengthOf(later, 2)
        assert.include(later, first)
        assert.include(later, JSON.stringify(test.body.event))
      }),
    {},
    both
  )
})
