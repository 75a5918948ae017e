import { assert, describe, it } from "@effect/vitest"
import { NodeCrypto } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect, Exit, Layer, Logger, Redacted, References } from "effect"
import { SecureRandom } from "effect/crypto"
import { TestClock } from "effect/testing"
import { Access } from "../../src/access/Access.ts"
import { AllowanceLimits, noLimits } from "../../src/access/limits/Allowance.ts"
import { generateSealKey, isGuessable, readKey, Seal, SealKeys } from "../../src/access/sealing/Seal.ts"
import { SealedRows } from "../../src/access/sealing/SealedRows.ts"
import type * as Operation from "../../src/calls/Operation.ts"
import * as Pipeline from "../../src/calls/Pipeline.ts"
import { ready } from "../../src/hostApi.ts"
import { verifyWebhook } from "../../src/index.ts"
import * as operations from "../../src/operations.ts"
import { layer, sandboxCarriers } from "../../src/Quotewire.ts"
import { Storage } from "../../src/storage/Storage.ts"
import { sealKeys } from "../../src/testing/World.ts"
import { createEventSubscription } from "../../src/webhooks/WebhookOperations.ts"
import { WebhookSender } from "../../src/webhooks/WebhookSender.ts"
import { RequestId } from "../../src/wire/Ids.ts"
import * as Json from "../../src/wire/Json.ts"
import { beginning, runDue, startOf } from "../support/world.ts"
import { endpoints, url } from "../webhooks/support.ts"
import { writing } from "./resealing.ts"

const oldKey = 1
const newKey = 2

const sealWith = (settings: Layer.Layer<SealKeys>) =>
  Seal.layer.pipe(Layer.provide(settings), Layer.provide(NodeCrypto.layer))

describe("a seal", () => {
  it.effect("opens data only for the purpose for which the data was sealed, and only if the data is unaltered", () =>
    Effect.gen(function* () {
      const seal = yield* Seal
      const sealed = yield* seal.seal("facts", "Ada Lovelace")
      assert.notInclude(sealed, "Ada")
      assert.strictEqual(yield* seal.open("facts", sealed), "Ada Lovelace")
      assert.isNull(yield* seal.open("secrets", sealed))
      assert.notStrictEqual(yield* seal.seal("facts", "Ada Lovelace"), sealed)
      for (let i = 0; i < sealed.length - 1; i++) {
        const altered = sealed.slice(0, i) + (sealed.charAt(i) === "A" ? "B" : "A") + sealed.slice(i + 1)
        // An altered key name is that of a key that this host does not have.
        const opened = yield* Effect.catch(seal.open("facts", altered), () => Effect.succeed(null))
        assert.isNull(opened, `altered at ${i}`)
      }
      for (const none of ["", ".", "x", sealed.slice(0, 20)]) assert.isNull(yield* seal.open("facts", none))
    }).pipe(Effect.provide(sealWith(sealKeys(newKey))))
  )

  it.effect("opens and compares data sealed with an older key while that key is in the settings", () =>
    Effect.gen(function* () {
      const before = yield* Effect.provide(
        Effect.gen(function* () {
          const seal = yield* Seal
          return { sealed: yield* seal.seal("p", "text"), mac: yield* seal.mac("p", "text") }
        }),
        sealWith(sealKeys(oldKey))
      )
      const rotated = yield* Effect.provide(
        Effect.gen(function* () {
          const seal = yield* Seal
          assert.strictEqual(yield* seal.open("p", before.sealed), "text")
          assert.strictEqual(yield* seal.macLike(before.mac, "p", "text"), before.mac)
          assert.notStrictEqual(yield* seal.mac("p", "text"), before.mac)
          return yield* seal.seal("p", "text")
        }),
        sealWith(sealKeys(newKey, oldKey))
      )
      yield* Effect.provide(
        Effect.gen(function* () {
          const seal = yield* Seal
          assert.strictEqual(yield* seal.open("p", rotated), "text")
          assert.isFalse(yield* seal.isMissingKey)
          assert.strictEqual((yield* Effect.flip(seal.open("p", before.sealed)))._tag, "StorageUnavailable")
          assert.isTrue(yield* seal.isMissingKey)
          assert.isNull(yield* seal.macLike(before.mac, "p", "text"))
        }),
        sealWith(sealKeys(newKey))
      )
    })
  )
})

/** The service with these seal keys, on a storage backend that outlives it. */
const service = (storage: Storage["Service"], settings: Layer.Layer<SealKeys>, webhooks = WebhookSender.layerOff) =>
  layer.pipe(
    Layer.provideMerge(Layer.succeed(Storage, writing(storage))),
    Layer.provide(webhooks),
    Layer.provide(Layer.mergeAll(settings, sandboxCarriers, Layer.succeed(AllowanceLimits, noLimits))),
    Layer.provide(NodeCrypto.layer)
  )

const call = <Output, R>(
  operation: Operation.Operation<string, unknown, Output, R>,
  key: string,
  input: unknown,
  more: { readonly read_handle?: string; readonly idempotency_key?: string } = {}
) =>
  Pipeline.call(operation, {
    request_id: RequestId.make("req_00000000000000000000000001"),
    credentials: { key, read_handle: more.read_handle ?? null, address: "", keyless: false },
    revision: { header: null },
    idempotency_key: more.idempotency_key ?? null,
    input: Effect.succeed(input)
  }).pipe(Effect.map((reply) => Json.decode(reply.json)))

describe("a service", () => {
  const bytes = Array.from({ length: 32 }, (_, at) => at)
  const weak: ReadonlyArray<readonly [string, ReadonlyArray<number>]> = [
    ["only zeros", bytes.map(() => 0)],
    ["one repeated byte", bytes.map(() => 0xa7)],
    ["a repeated word", bytes.map((at) => "quotewire-seal!!".charCodeAt(at % 16))],
    ["two alternating bytes", bytes.map((at) => (at % 2 === 0 ? 1 : 2))],
    ["one byte among zeros", bytes.map((at) => (at === 31 ? 1 : 0))],
    ["counting bytes", bytes],
    ["bytes counting down in steps", bytes.map((at) => 256 - 5 * at).map((byte) => byte & 0xff)]
  ]
  it.effect.each(weak)("refuses to start with a guessable seal key, and explains what to do: %s", ([, bytes]) =>
    Effect.gen(function* () {
      const storage = yield* Storage
      const weak = Redacted.make(Uint8Array.from(bytes))
      const random = Redacted.make(yield* SecureRandom.SecureRandom.use((random) => random.randomBytes(32)))
      for (const keys of [[weak], [random, weak]] satisfies ReadonlyArray<SealKeys["Service"]["keys"]>) {
        const settings = Layer.succeed(SealKeys, { keys })
        const refused = yield* Effect.flip(Effect.provide(Effect.void, service(storage, settings)))
        assert.include(refused.message, "generateSealKey()")
      }
    }).pipe(Effect.provide(MemoryStorage.layer), Effect.provide(NodeCrypto.layer))
  )

  it("never rejects a random seal key as guessable", () => {
    for (let i = 0; i < 200; i++) {
      const key = readKey(generateSealKey())
      assert.isFalse(key === null || isGuessable(key))
    }
  })
})

describe("a seal key rotation", () => {
  it.effect("keeps keys, handles, cursors and links valid on hosts that have the older key", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(beginning)
      const storage = yield* Storage
      // Nothing is sealed with the older key when this host starts.
      const without = yield* Layer.build(service(storage, sealKeys(newKey)))
      const input = startOf()
      // Before the rotation, a host has both keys.
      const before = yield* Effect.provide(
        Effect.gen(function* () {
          const access = yield* Access
          const { id } = yield* access.createOrganization("A test")
          const make = (kind: "server" | "platform") =>
            Effect.map(access.createKey({ organization_id: id, environment: "sandbox", kind }), ({ key }) => key)
          const server = yield* make("server")
          const platform = yield* make("platform")
          const started = yield* call(operations.startQuoteRequest, platform, input)
          yield* call(operations.selectScenario, server, { scenario: "zero_quotes" }, { idempotency_key: "once" })
          const { next_cursor } = yield* call(operations.listEvents, server, {})
          return { server, platform, started, next_cursor }
        }),
        service(storage, sealKeys(oldKey, newKey))
      )
      const { next_cursor, platform, server, started } = before
      const handle = { read_handle: started.read_handle ?? "" }
      // After the rotation, everything from before still works.
      yield* Effect.provide(
        Effect.gen(function* () {
          const repeat = yield* call(operations.startQuoteRequest, platform, input)
          assert.deepStrictEqual(repeat, started)
          yield* call(operations.advanceTime, server, { seconds: 60 }, { idempotency_key: "a" })
          const read = yield* call(operations.getQuoteRequest, platform, { id: started.id, wait_seconds: 0 }, handle)
          assert.strictEqual(read.quote_request.status, "completed")
          const page = yield* call(operations.listEvents, server, { cursor: next_cursor })
          assert.isNotEmpty(page.events)
          const again = { idempotency_key: "once" }
          yield* call(operations.selectScenario, server, { scenario: "zero_quotes" }, again)
          const other = yield* Effect.flip(call(operations.selectScenario, server, { scenario: "quotes_ready" }, again))
          assert.strictEqual(other._tag, "conflict")
        }),
        service(storage, sealKeys(newKey, oldKey))
      )
      // On a host without the older key, nothing from before works.
      yield* Effect.provide(
        Effect.gen(function* () {
          const gone = yield* Effect.flip(
            call(operations.getQuoteRequest, platform, { id: started.id, wait_seconds: 0 }, handle)
          )
          // The application that the handle belongs to is sealed with it.
          assert.strictEqual(gone._tag, "service_unavailable")
          const cursor = yield* Effect.flip(call(operations.listEvents, server, { cursor: next_cursor }))
          assert.strictEqual(cursor._tag, "invalid_cursor")
          const repeat = yield* Effect.flip(call(operations.startQuoteRequest, platform, input))
          assert.strictEqual(repeat._tag, "conflict")
          // It was resealed with the new key when it changed.
          const read = yield* call(operations.getQuoteRequest, server, { id: started.id, wait_seconds: 0 })
          assert.strictEqual(read.quote_request.status, "completed")
        }),
        without
      )
    }).pipe(Effect.scoped, Effect.provide(MemoryStorage.layer))
  )

  it.effect("makes a refused call's idempotency key usable after the seal key of its record was removed", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(beginning)
      const storage = yield* Storage
      const once = { idempotency_key: "once" }
      const server = yield* Effect.provide(
        Effect.gen(function* () {
          const access = yield* Access
          const { id } = yield* access.createOrganization("A test")
          const { key } = yield* access.createKey({ organization_id: id, environment: "sandbox", kind: "server" })
          yield* Effect.flip(call(operations.selectScenario, key, { scenario: "no_such" }, once))
          return key
        }),
        service(storage, sealKeys(oldKey))
      )
      yield* Effect.provide(
        SealedRows.use(({ rotate }) => rotate()),
        service(storage, sealKeys(newKey, oldKey))
      )
      yield* Effect.provide(
        Effect.gen(function* () {
          yield* call(operations.selectScenario, server, { scenario: "zero_quotes" }, once)
          yield* call(operations.selectScenario, server, { scenario: "zero_quotes" }, once)
          const other = yield* Effect.flip(call(operations.selectScenario, server, { scenario: "quotes_ready" }, once))
          assert.strictEqual(other._tag, "conflict")
        }),
        service(storage, sealKeys(newKey))
      )
    }).pipe(Effect.provide(MemoryStorage.layer))
  )

  it.effect("never leads to an unsigned webhook, even from a host that lacks the signing secret's seal key", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(beginning)
      const storage = yield* Storage
      const webhooks = endpoints()
      // Nothing is sealed with the older key when this host starts.
      const without = yield* Layer.build(service(storage, sealKeys(newKey), webhooks.layer))
      const start = (server: string) => call(operations.startQuoteRequest, server, startOf())
      const { server, secret } = yield* Effect.provide(
        Effect.gen(function* () {
          const access = yield* Access
          const { id } = yield* access.createOrganization("A test")
          const { key } = yield* access.createKey({ organization_id: id, environment: "live", kind: "server" })
          const input = { url, event_types: ["quote_request.queued"] }
          const made = yield* call(createEventSubscription, key, input, { idempotency_key: "one" })
          return { server: key, secret: made.signing_secret ?? "" }
        }),
        service(storage, sealKeys(oldKey, newKey), webhooks.layer)
      )
      yield* Effect.provide(
        Effect.andThen(start(server), runDue),
        service(storage, sealKeys(newKey, oldKey), webhooks.layer)
      )
      const { headers, body } = webhooks.sent[0]?.request ?? assert.fail("nothing was sent")
      const received = { secrets: [secret], headers, body, now_seconds: beginning / 1_000 }
      assert.isTrue((yield* Effect.promise(() => verifyWebhook(received))).ok)
      // The delivery waits for a host that has the key.
      yield* Effect.provide(Effect.andThen(start(server), Effect.flip(runDue)), without)
      assert.lengthOf(webhooks.sent, 1)
      yield* TestClock.adjust("1 minute")
      yield* Effect.provide(runDue, service(storage, sealKeys(newKey, oldKey), webhooks.layer))
      assert.lengthOf(webhooks.sent, 2)
    }).pipe(Effect.scoped, Effect.provide(MemoryStorage.layer))
  )
})

describe("a service with seal keys that do not match its storage", () => {
  const starting = (storage: Storage["Service"], settings: Layer.Layer<SealKeys>) =>
    Effect.provide(Effect.void, service(storage, settings))

  it.effect("does not start, and changes nothing", () =>
    Effect.gen(function* () {
      const storage = yield* Storage
      yield* starting(storage, sealKeys(oldKey))
      const refused = yield* Effect.flip(starting(storage, sealKeys(newKey)))
      assert.strictEqual(refused._tag, "SealKeysRefused")
      const nameOf = (number: number) =>
        Effect.provide(
          Effect.map(Seal, ({ key_names }) => key_names[0]),
          sealWith(sealKeys(number))
        )
      assert.strictEqual(
        refused.message,
        `The seal keys must include the key ${yield* nameOf(oldKey)} that the storage is sealed with (given: 1. ${yield* nameOf(newKey)}). List missing keys after the newest key, and remove a key only when its rows have been resealed.`
      )
      yield* starting(storage, sealKeys(oldKey))
      yield* starting(storage, sealKeys(newKey, oldKey))
      // The new key has sealed something since, which a host with only the old one could not open.
      assert.strictEqual((yield* Effect.flip(starting(storage, sealKeys(oldKey))))._tag, "SealKeysRefused")
      // The old key may have sealed something that still exists.
      const removed = yield* Effect.flip(starting(storage, sealKeys(newKey)))
      assert.include(removed.message, yield* nameOf(oldKey))
      assert.notInclude(removed.message, "test worlds")
      const both = service(storage, sealKeys(newKey, oldKey))
      yield* Effect.provide(
        SealedRows.use(({ rotate }) => rotate()),
        both
      )
      yield* starting(storage, sealKeys(newKey))
    }).pipe(Effect.provide(MemoryStorage.layer))
  )

  it.effect("does not start, even concurrently with hosts whose keys match", () =>
    Effect.gen(function* () {
      const storage = yield* Storage
      const settings = [sealKeys(oldKey), sealKeys(newKey), sealKeys(oldKey), sealKeys(newKey)]
      const started = yield* Effect.forEach(settings, (each) => Effect.exit(starting(storage, each)), {
        concurrency: "unbounded"
      })
      assert.strictEqual(started.filter(Exit.isSuccess).length, 2)
      assert.strictEqual(Exit.isSuccess(started[0] ?? Exit.void), Exit.isSuccess(started[2] ?? Exit.void))
    }).pipe(Effect.provide(MemoryStorage.layer))
  )

  it.effect("stops being ready when it finds data that it cannot open, and logs why", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(beginning)
      const storage = yield* Storage
      const logged: Array<unknown> = []
      const logger = Logger.layer([
        Logger.make(({ message, fiber }) => {
          logged.push([message, fiber.getRef(References.CurrentLogAnnotations)])
        })
      ])
      yield* Effect.gen(function* () {
        // A host that still runs with the old key after another host began to seal with a new one.
        const old = yield* Layer.build(service(storage, sealKeys(oldKey)))
        const both = yield* Layer.build(service(storage, sealKeys(newKey, oldKey)))
        assert.strictEqual(yield* Effect.provide(ready, old), true)
        const { server, started } = yield* Effect.provide(
          Effect.gen(function* () {
            const access = yield* Access
            const { id } = yield* access.createOrganization("A test")
            const { key } = yield* access.createKey({ organization_id: id, environment: "live", kind: "server" })
            return { server: key, started: yield* call(operations.startQuoteRequest, key, startOf()) }
          }),
          both
        )
        const lost = yield* Effect.flip(Effect.provide(runDue, old))
        assert.strictEqual(lost._tag, "StorageUnavailable")
        assert.match(`${yield* Effect.provide(ready, old)}`, /seal key/)
        const text = JSON.stringify(logged)
        assert.include(text, started.id)
        assert.notInclude(text, "10001")
        const read = Effect.provide(call(operations.getQuoteRequest, server, { id: started.id, wait_seconds: 0 }), both)
        assert.strictEqual((yield* read).quote_request.status_details.reason, "queued")
        yield* TestClock.adjust("1 minute")
        yield* Effect.provide(runDue, both)
        assert.notStrictEqual((yield* read).quote_request.status_details.reason, "queued")
        assert.notStrictEqual((yield* read).quote_request.status_details.reason, "could_not_start")
        assert.strictEqual(yield* Effect.provide(ready, both), true)
      }).pipe(Effect.scoped, Effect.provide(logger))
    }).pipe(Effect.provide(MemoryStorage.layer))
  )
})

describe("a request whose facts were altered in storage", () => {
  it.effect("fails, and the log does not contain the facts", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(beginning)
      const storage = yield* Storage
      const altering: Storage["Service"] = {
        ...storage,
        commit: (change) =>
          storage.commit({
            ...change,
            writes: change.writes.map((record) =>
              record.kind === "application" ? { ...record, body: `${record.body.slice(0, -8)}AAAAAAA=` } : record
            )
          })
      }
      const logged: Array<unknown> = []
      const logger = Logger.layer([Logger.make(({ message }) => logged.push(message))])
      const quoteRequest = yield* Effect.gen(function* () {
        const access = yield* Access
        const { id } = yield* access.createOrganization("A test")
        const { key } = yield* access.createKey({ organization_id: id, environment: "live", kind: "server" })
        const started = yield* call(operations.startQuoteRequest, key, startOf())
        yield* TestClock.adjust("1 minute")
        yield* runDue
        return (yield* call(operations.getQuoteRequest, key, { id: started.id, wait_seconds: 0 })).quote_request
      }).pipe(Effect.provide(service(altering, sealKeys(oldKey))), Effect.provide(logger))
      assert.strictEqual(quoteRequest.status_details.reason, "could_not_start")
      assert.include(JSON.stringify(logged), "Cannot open sealed text, because it was altered")
      assert.notInclude(JSON.stringify(logged), "10001")
    }).pipe(Effect.provide(MemoryStorage.layer))
  )
})
