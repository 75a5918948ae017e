import { assert, describe, it } from "@effect/vitest"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Clock, Deferred, Effect, Fiber, Layer, Result, Schema } from "effect"
import { TestClock } from "effect/testing"
import { standardLimits } from "../../src/access/limits/Limits.ts"
import { CarrierAdapters } from "../../src/carriers/Carrier.ts"
import type { AnswerOf, Client, InputOf } from "../../src/client/Client.ts"
import { isApiError } from "../../src/client/isApiError.ts"
import type { EmbedOptions } from "../../src/embedding/Embedded.ts"
import * as Resource from "../../src/Resource.ts"
import { Storage, StorageUnavailable } from "../../src/storage/Storage.ts"
import { sealKeys } from "../../src/testing/World.ts"
import { WebhookSender } from "../../src/webhooks/WebhookSender.ts"
import { ApiError } from "../../src/wire/ApiError.ts"
import { SubscriptionId } from "../../src/wire/Ids.ts"
import { offers, prompt } from "../quoting/carriers.ts"
import { startOf } from "./starts.ts"
import { around, clientOf, embedded, refusal, rejection } from "./support.ts"

describe("an embedded service's key", () => {
  it.live("is created with a warning if no carrier can be asked in its environment", () =>
    Effect.gen(function* () {
      const quotewire = yield* embedded()
      const { id: organization_id } = yield* Effect.promise(() => quotewire.createOrganization("Acme"))
      const create = (environment: "sandbox" | "live") =>
        Effect.promise(() => quotewire.createKey({ organization_id, environment, kind: "server" }))
      assert.deepStrictEqual((yield* create("sandbox")).warnings, [])
      const { key, warnings } = yield* create("live")
      assert.lengthOf(warnings, 1)
      assert.match(warnings.join(), /no live carriers/)
      assert.notInclude(warnings.join(), key)
    })
  )
})

describe("an embedded service's connections", () => {
  it.live("are set, tested, listed and removed with plain values", () =>
    Effect.gen(function* () {
      const { adapter } = prompt("naic:12345", offers(), {
        rest: {
          connection: { producer_code: "string", api_key: "secret" },
          testConnection: ({ api_key }) =>
            Effect.succeed(api_key === "right" ? { ok: true } : { ok: false, message: "Unknown key." })
        }
      })
      const quotewire = yield* embedded({ carriers: Layer.succeed(CarrierAdapters, [adapter]) })
      const { id: organization_id } = yield* Effect.promise(() => quotewire.createOrganization("Acme"))
      const place = { organization_id, environment: "live", carrier_id: "naic:12345" } as const
      const values = { producer_code: "4711", api_key: "right" }
      const { code, field_errors } = yield* refusal(quotewire.setConnection({ ...place, values: { api_key: "right" } }))
      assert.deepStrictEqual([code, field_errors?.[0]?.path], ["invalid_input", "values.producer_code"])
      // Later changes by the program to its own options have no effect.
      const setting = quotewire.setConnection({ ...place, values })
      values.api_key = "wrong"
      assert.strictEqual((yield* Effect.promise(() => setting)).state, "usable")
      assert.deepStrictEqual(yield* Effect.promise(() => quotewire.testConnection(place)), {
        outcome: "ok",
        message: null
      })
      const [listed] = yield* Effect.promise(() => quotewire.listConnections(organization_id))
      assert.deepStrictEqual(listed?.values, { producer_code: "4711", api_key: null })
      assert.strictEqual(listed?.last_test?.outcome, "ok")
      yield* Effect.promise(() => quotewire.removeConnection(place))
      assert.deepStrictEqual(yield* Effect.promise(() => quotewire.listConnections(organization_id)), [])
      assert.strictEqual((yield* refusal(quotewire.removeConnection(place))).code, "not_found")
    })
  )
})

describe("an embedded service on persistent storage", () => {
  it.live("does not start with random seal keys, or without the seal key that the data is sealed with", () =>
    Effect.gen(function* () {
      const kept = yield* Layer.build(MemoryStorage.layer)
      const storage = Layer.succeedContext(kept)
      const withKeys = (...keys: Parameters<typeof sealKeys>) => ({ storage, seal_keys: sealKeys(...keys) })
      const first = yield* embedded(withKeys(1))
      yield* Effect.promise(() => first.ready)
      for (const options of [withKeys(2), { storage }]) {
        const { ready, createOrganization } = yield* embedded(options)
        assert.match(`${yield* rejection(ready)}`, /seal.keys/)
        assert.match(`${yield* rejection(createOrganization("Acme"))}`, /seal.keys/)
      }
      const { ready } = yield* embedded(withKeys(2, 1))
      yield* Effect.promise(() => ready)
    })
  )
})

describe("an embedded service", () => {
  it.live("starts immediately, and looks for due work before the first call", () =>
    Effect.gen(function* () {
      const looked = yield* Deferred.make<void>()
      const storage = around(({ claim }) => ({
        claim: (query) => Effect.andThen(Deferred.succeed(looked, undefined), claim(query))
      }))
      const { ready } = yield* embedded({ storage })
      yield* Effect.promise(() => ready)
      yield* Deferred.await(looked)
    })
  )

  it.live("uses the clock of its storage backend", () =>
    Effect.gen(function* () {
      const clock = yield* TestClock.make()
      const storage = Layer.merge(MemoryStorage.layer, Layer.succeed(Clock.Clock, clock))
      const quotewire = yield* embedded({ storage, work: false })
      assert.strictEqual(
        (yield* Effect.promise(() => quotewire.createOrganization("Acme"))).created_at,
        "1970-01-01T00:00:00.000Z"
      )
    })
  )

  it.live("reports a failed start to its callers, and causes no unhandled rejection", () =>
    Effect.gen(function* () {
      const troubled: Array<unknown> = []
      const note = (error: unknown) => troubled.push(error)
      yield* Effect.acquireRelease(
        Effect.sync(() => process.on("unhandledRejection", note)),
        () => Effect.sync(() => process.off("unhandledRejection", note))
      )
      const away = new Error("The database is away.")
      const quotewire = yield* embedded({ storage: Layer.effect(Storage, Effect.fail(away)) })
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      assert.deepStrictEqual(troubled, [])
      for (const promise of [quotewire.ready, quotewire.createOrganization("Acme")]) {
        const error = yield* rejection(promise)
        assert.deepInclude(error, { message: "The database is away.", cause: away })
        assert.notStrictEqual(error, away)
      }
    })
  )
})

describe("an embedded service's public URL", () => {
  it.live.each([
    "javascript:alert(1)",
    "https://user:secret@example.com",
    "https://example.com?a=b",
    'http://x/"><script>'
  ])("prevents the service from starting if it is %j", (public_url) =>
    Effect.gen(function* () {
      const error = yield* rejection((yield* embedded({ public_url })).ready)
      assert.match(String(error), /: The configuration is not valid: public_url: Must /)
      assert.notInclude(String(error), public_url)
    })
  )

  it.live("is the base of links, without a double slash", () =>
    Effect.gen(function* () {
      const client = yield* clientOf(yield* embedded({ public_url: "https://quotes.example.com/insurance/" }))
      const { id } = yield* Effect.promise(() => client.start_quote_request(startOf()))
      yield* Effect.promise(() => client.advance_time({ seconds: 60 }, { idempotency_key: "a-minute" }))
      const { quotes } = yield* Effect.promise(() => client.get_quote_request({ id }))
      const [link] = quotes.flatMap(({ next_actions }) =>
        next_actions.flatMap((action) => ("url" in action ? [action.url] : []))
      )
      assert.match(String(link), /^https:\/\/quotes\.example\.com\/insurance\/go\/[^/]+$/)
    })
  )
})

describe("a call", () => {
  it.live("uses its input as passed, even if the program mutates the input afterwards", () =>
    Effect.gen(function* () {
      const client = yield* clientOf(yield* embedded())
      const input = { ...startOf(), request_key: "" }
      const keys = ["one", "two", "three"]
      const started = keys.map((request_key) => client.start_quote_request(Object.assign(input, { request_key })))
      const requests = yield* Effect.promise(() => Promise.all(started))
      assert.strictEqual(new Set(requests.map(({ id }) => id)).size, keys.length)
    })
  )

  it.live("returns a copy, and changes to the copy do not affect later responses", () =>
    Effect.gen(function* () {
      const client = yield* clientOf(yield* embedded())
      const quote = yield* Effect.promise(async () => {
        const { id } = await client.start_quote_request(startOf())
        await client.advance_time({ seconds: 60 }, { idempotency_key: "once" })
        const { quotes } = await client.get_quote_request({ id, wait_seconds: 0 })
        return quotes[0] ?? assert.fail("no quote")
      })
      const read = () => Effect.promise(() => client.get_quote({ id: quote.id }))
      Object.assign((yield* read()).price, { premium: null })
      assert.deepStrictEqual((yield* read()).price, quote.price)
    })
  )

  it.live("is refused with invalid_input if its input cannot be copied", () =>
    Effect.gen(function* () {
      const client = yield* clientOf(yield* embedded())
      const dwelling = Object.assign(() => "a house", { type: "apartment" as const })
      const { code, field_errors } = yield* refusal(
        client.start_quote_request({ ...startOf(), line: "renters", application: { dwelling } })
      )
      assert.deepStrictEqual([code, field_errors?.[0]?.path], ["invalid_input", "application.dwelling"])
    })
  )
})

/** A service with a stopped clock, so that all calls fall into one minute. */
const still = (options: Partial<EmbedOptions> = {}) =>
  Effect.flatMap(TestClock.make(), (clock) =>
    embedded({ storage: Layer.merge(MemoryStorage.layer, Layer.succeed(Clock.Clock, clock)), work: false, ...options })
  )

const idOf = Schema.decodeUnknownSync(SubscriptionId)

describe("an embedded service's rate limits", () => {
  const startMany = (client: Client, count: number) =>
    Effect.forEach(Array.from({ length: count }), (_, index) =>
      Effect.result(
        Effect.tryPromise({
          try: () => client.start_quote_request(startOf(`start-${index}`)),
          catch: (error) => (error instanceof ApiError ? error.code : String(error))
        })
      )
    )

  it.live("are off by default for calls, and can be set by the program", () =>
    Effect.gen(function* () {
      const free = yield* startMany(yield* clientOf(yield* still()), 70)
      assert.isTrue(free.every(Result.isSuccess))
      const limited = yield* startMany(yield* clientOf(yield* still({ limits: standardLimits })), 61)
      assert.deepStrictEqual(
        limited.filter(Result.isFailure).map(({ failure }) => failure),
        ["rate_limited"]
      )
    })
  )

  it.live("are on by default for test events, to protect receivers", () =>
    Effect.gen(function* () {
      const client = yield* clientOf(yield* still({ webhooks: receiving }))
      const test = (id: string, name: string) =>
        client.send_test_event({ id: idOf(id) }, { idempotency_key: `${id}-${name}` })
      const subscribe = (index: number) =>
        client.create_event_subscription(
          { url: `https://hooks.acme-quotes.com/${index}`, event_types: ["quote.created"] },
          { idempotency_key: `subscription-${index}` }
        )
      const subscriptions = yield* Effect.forEach(Array.from({ length: 7 }).keys(), (index) =>
        Effect.promise(() => subscribe(index))
      )
      const [last, ...six] = subscriptions
      for (const { id } of six) for (let n = 0; n < 10; n++) yield* Effect.promise(() => test(id, String(n)))
      assert.strictEqual((yield* refusal(test(last?.id ?? assert.fail("none"), "61"))).code, "rate_limited")
    })
  )
})

const receiving = Layer.succeed(WebhookSender, {
  send: () => Effect.succeed({ response_status_code: 200, duration_ms: 1, failure: null }),
  lookUp: () => Effect.succeed("public" as const)
})

describe("a rejected call", () => {
  it.live("throws a new error with a name, a code and the call's stack", () =>
    Effect.gen(function* () {
      const client = (yield* embedded()).client("no key")
      const read = async () => await client.get_capabilities({ line: "renters" })
      const [one, other] = yield* Effect.all([refusal(read()), refusal(read())])
      assert.notStrictEqual(one, other)
      for (const { code, name, stack } of [one, other]) {
        assert.deepStrictEqual([name, code], ["ApiError", "authentication_failed"])
        assert.include(stack, "embed.test.ts")
      }
    })
  )

  it.live("throws an error with the call's own request ID", () =>
    Effect.gen(function* () {
      const client = yield* clientOf(yield* embedded())
      const read = Effect.promise(() => client.get_quote({ id: "quo_missing" }).catch((error: unknown) => error))
      const ids = (yield* Effect.all([read, read])).map((error) => (isApiError(error) ? error.request_id : null))
      assert.match(ids.join(), /^req_\w+,req_\w+$/)
      assert.notStrictEqual(ids[0], ids[1])
    })
  )

  it.live("throws the abort signal's reason if the call was aborted", () =>
    Effect.gen(function* () {
      const client = yield* clientOf(yield* embedded())
      const reason = new Error("No longer wanted.")
      const signal = AbortSignal.abort(reason)
      assert.strictEqual(yield* rejection(client.get_capabilities({ line: "renters" }, { signal })), reason)
    })
  )

  it.live("throws an ApiError if it creates an organization while storage is unavailable", () =>
    Effect.gen(function* () {
      const away = Effect.fail(new StorageUnavailable({ retry_after_seconds: 7 }))
      const quotewire = yield* embedded({ storage: around(() => ({ commit: () => away })) })
      const { code, message, retry_after_seconds } = yield* refusal(quotewire.createOrganization("Acme"))
      assert.deepStrictEqual([code, retry_after_seconds], ["service_unavailable", 7])
      assert.isNotEmpty(message)
    })
  )
})

describe("the types of a client", () => {
  it.live("can be looked up by operation name, and include the resources", () =>
    Effect.gen(function* () {
      const client = yield* clientOf(yield* embedded())
      const input: InputOf<"start_quote_request"> = startOf()
      const started: AnswerOf<"start_quote_request"> = yield* Effect.promise(() => client.start_quote_request(input))
      const once = { idempotency_key: "a-minute" }
      const moved: AnswerOf<"advance_time"> = yield* Effect.promise(() => client.advance_time({ seconds: 60 }, once))
      const read: AnswerOf<"get_quote_request"> = yield* Effect.promise(() =>
        client.get_quote_request({ id: started.id })
      )
      for (const quote of read.quotes) Schema.decodeUnknownSync(Resource.Quote)(quote)
      assert.strictEqual(moved.workspace.clock_offset_seconds, 60)
      assert.isNotEmpty(read.quotes)
    })
  )
})

describe("closing an embedded service", () => {
  it.live("ends pending long polls with the current state, and refuses later calls", () =>
    Effect.gen(function* () {
      const quotewire = yield* embedded({ work: false })
      const client = yield* clientOf(quotewire)
      const { id } = yield* Effect.promise(() => client.start_quote_request(startOf()))
      const waiting = client.get_quote_request({ id })
      yield* Effect.promise(() => quotewire.close())
      const { quote_request } = yield* Effect.promise(() => waiting)
      assert.deepStrictEqual([quote_request.id, quote_request.status], [id, "in_progress"])
      const { code, message } = yield* refusal(client.get_quote_request({ id }))
      assert.deepStrictEqual([code, message], ["service_unavailable", "The service is closed."])
      yield* Effect.promise(() => quotewire.close())
    })
  )

  it.live("happens automatically at the end of an `await using` block", () =>
    Effect.gen(function* () {
      const quotewire = yield* embedded()
      yield* Effect.promise(() => quotewire[Symbol.asyncDispose]())
      assert.strictEqual((yield* refusal(quotewire.listOrganizations())).message, "The service is closed.")
    })
  )

  it.live("makes calls fail with service_unavailable if they do not end within the grace period", () =>
    Effect.gen(function* () {
      const asked = yield* Deferred.make<void>()
      const webhooks = Layer.effect(
        WebhookSender,
        Effect.map(WebhookSender, (sender) => ({
          ...sender,
          lookUp: () => Effect.andThen(Deferred.succeed(asked, undefined), Effect.never)
        }))
      ).pipe(Layer.provide(receiving))
      const quotewire = yield* embedded({ webhooks, grace_ms: 0 })
      const client = yield* clientOf(quotewire)
      const input = { url: "https://hooks.example.com/", event_types: ["quote.created"] } as const
      const hanging = refusal(client.create_event_subscription(input, { idempotency_key: "one" }))
      const waiting = yield* Effect.forkChild(hanging)
      yield* Deferred.await(asked)
      yield* Effect.promise(() => quotewire.close())
      assert.strictEqual((yield* Fiber.join(waiting)).code, "service_unavailable")
    })
  )
})

describe("rotating the seal keys of an embedded service", () => {
  it.live.each([
    ["throws", () => assert.fail("no bar")],
    ["rejects", async () => assert.fail("no bar")]
  ] as const)("continues if `on_progress` %s, and logs the error", ([, on_progress]) =>
    Effect.gen(function* () {
      const entries: Array<string> = []
      const warn = (...parts: ReadonlyArray<unknown>) => void entries.push(parts.map(String).join(" "))
      const logger = { debug: () => {}, info: () => {}, warn, error: () => {} }
      const quotewire = yield* embedded({ logger })
      yield* clientOf(quotewire)
      yield* Effect.promise(() => quotewire.rotateSealKeys({ on_progress }))
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      assert.include(entries.join("\n"), "on_progress failed")
    })
  )
})

describe("a program without the `webhooks` option", () => {
  const input = { url: "https://hooks.acme-quotes.com/", event_types: ["quote.created"] } as const

  it.live("cannot create a subscription, and its log names the option", () =>
    Effect.gen(function* () {
      const entries: Array<string> = []
      const warn = (...parts: ReadonlyArray<unknown>) => void entries.push(parts.map(String).join(" "))
      const logger = { debug: () => {}, info: () => {}, warn, error: () => {} }
      const client = yield* clientOf(yield* embedded({ logger }))
      const error = yield* refusal(client.create_event_subscription(input, { idempotency_key: "one" }))
      assert.deepStrictEqual([error.code, error.retry_action], ["conflict", "none"])
      assert.include(entries.join("\n"), "Pass the `webhooks` option to `embed`")
    })
  )
})
