import { assert, describe, it, vi } from "@effect/vitest"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Clock, Effect, Layer, Result } from "effect"
import { Base64 } from "effect/encoding"
import { TestClock } from "effect/testing"
import { standardLimits } from "../../src/access/limits/Limits.ts"
import * as Pipeline from "../../src/calls/Pipeline.ts"
import type { EmbedOptions } from "../../src/embedding/Embedded.ts"
import { embed } from "../../src/embedding/embed.ts"
import { type AnyLine, generateSealKey, isApiError, type ProgramLogger } from "../../src/index.ts"
import { startQuoteRequest } from "../../src/operations.ts"
import { Ids } from "../../src/wire/Ids.ts"
import { startOf } from "./starts.ts"

/*
 * What a program passes to `embed` without knowing Effect.
 */

/** A service that is closed at the end of the test. */
const embedded = <OwnLine extends AnyLine>(options: Partial<EmbedOptions<OwnLine>> = {}) =>
  Effect.acquireRelease(
    Effect.sync(() => embed({ storage: MemoryStorage.layer, work: false, ...options })),
    (quotewire) => Effect.promise(() => quotewire.close())
  )

const messageOf = (promise: Promise<unknown>) =>
  Effect.promise(() =>
    promise.then(
      () => assert.fail("did not reject"),
      (error: unknown) => (error instanceof Error ? error.message : assert.fail(`rejected with ${String(error)}`))
    )
  )

/** A storage backend that several services can use, one after another. */
const kept = Effect.map(Layer.build(MemoryStorage.layer), Layer.succeedContext)

const keyOf = (quotewire: ReturnType<typeof embed>) =>
  Effect.promise(async () => {
    const { id: organization_id } = await quotewire.createOrganization("Acme")
    return quotewire.createKey({ organization_id, environment: "sandbox", kind: "server" })
  })

describe("seal keys", () => {
  it.live("are a list of strings from generateSealKey, newest first", () =>
    Effect.gen(function* () {
      const storage = yield* kept
      const [older, newer] = [generateSealKey(), generateSealKey()]
      const first = yield* embedded({ storage, seal_keys: [older] })
      yield* Effect.promise(() => first.ready)
      const second = yield* embedded({ storage, seal_keys: [newer, older] })
      yield* Effect.promise(() => second.ready)
      const third = yield* embedded({ storage, seal_keys: [older] })
      assert.match(
        yield* messageOf(third.ready),
        /^The seal keys must include the key \S{8} that the storage is sealed with/
      )
    })
  )

  it.live("cannot open earlier data if they are random; the error says to set seal_keys", () =>
    Effect.gen(function* () {
      const storage = yield* kept
      const first = yield* embedded({ storage, seal_keys: [generateSealKey()] })
      yield* Effect.promise(() => first.ready)
      const second = yield* embedded({ storage })
      for (const promise of [second.ready, second.createOrganization("Acme")]) {
        assert.match(yield* messageOf(promise), /^Set seal_keys to the keys that sealed the data in this storage/)
      }
    })
  )

  const form = "32 bytes in base64, as generateSealKey() returns them."
  const randomly = "32 random bytes in base64, as generateSealKey() returns them."
  it.live.each([
    { seal_keys: ["a secret"], says: ` seal_keys.0: Must be a seal key: ${form}` },
    { seal_keys: [undefined], says: ` seal_keys.0: Must be a seal key: ${form}` },
    {
      seal_keys: [generateSealKey(), "", "a secret"],
      says: `\n  seal_keys.1: Must be a seal key: ${form}\n  seal_keys.2: Must be a seal key: ${form}`
    },
    {
      seal_keys: [generateSealKey(), Base64.encode(new Uint8Array(32).fill(7))],
      says: ` seal_keys.1: Can be guessed: pass ${randomly}`
    },
    { seal_keys: [], says: " seal_keys: Must be a list of at least one seal key, as generateSealKey() returns them." }
  ])("cause an error that names the position but not the value of an invalid key", ({ says, seal_keys }) =>
    Effect.gen(function* () {
      const message = yield* messageOf((yield* embedded({ seal_keys })).ready)
      assert.strictEqual(message, `The configuration is not valid:${says}`)
    })
  )
})

describe("an option of the wrong type", () => {
  const secret = "a secret"
  const wrong: ReadonlyArray<readonly [string, unknown, RegExp]> = [
    ["storage", undefined, /storage: Must be a layer, such as MemoryStorage\.layer/],
    ["storage", MemoryStorage, /storage: Must be a layer/],
    ["seal_keys", secret, /seal_keys: Must be a list of at least one seal key/],
    ["seal_keys", [1, null], /seal_keys\.0: Must be a seal key.*\s+seal_keys\.1: Must be a seal key/],
    ["carriers", null, /carriers: Must be a list of carriers/],
    ["limits", {}, /limits: Must have every limit in/],
    ["limits", { ...standardLimits, organization_factor: secret }, /limits: Must have every limit in/],
    ["logger", { info: secret }, /logger: Must have the functions debug, info, warn and error/],
    ["webhooks", secret, /webhooks: Must be a layer/],
    ["cryptography", {}, /cryptography: Must be a layer/],
    ["public_url", 5, /public_url: Must be text/],
    ["request_log", null, /request_log: Must be true or false/],
    ["feedback", secret, /feedback: Must be true or false/],
    ["work", 1, /work: Must be true or false/],
    ["grace_ms", secret, /grace_ms: Must be a whole number/],
    ["grace_ms", Number.NaN, /grace_ms: Must be /],
    ["seal_key", [secret], /seal_key: There is no such option\. The options are storage, seal_keys,/]
  ]
  it.live.each(wrong)("is named in the error: %s", ([name, value, says]) =>
    Effect.gen(function* () {
      const quotewire = yield* embedded(Object.fromEntries([[name, value]]))
      for (const promise of [quotewire.ready, quotewire.createOrganization("Acme")]) {
        const message = yield* messageOf(promise)
        assert.match(message, says)
        assert.notInclude(message, secret)
      }
    })
  )

  it.live.each([undefined, null, secret, 5])(
    "causes an error even if the whole options argument is not an object: %o",
    (options) =>
      Effect.gen(function* () {
        const quotewire: ReturnType<typeof embed> = Reflect.apply(embed, null, [options])
        assert.match(yield* messageOf(quotewire.ready), /^embed needs an options object/)
        yield* Effect.promise(() => quotewire.close())
      })
  )
})

type Entry = readonly [method: string, ...parts: ReadonlyArray<unknown>]

/** A logger that keeps its entries, and may throw. */
const listening = (write: (entry: Entry) => void): ProgramLogger => ({
  debug: (...parts) => write(["debug", ...parts]),
  info: (...parts) => write(["info", ...parts]),
  warn: (...parts) => write(["warn", ...parts]),
  error: (...parts) => write(["error", ...parts])
})

const sayAll = Effect.gen(function* () {
  yield* Effect.logDebug("a debug entry")
  yield* Effect.logInfo("an entry")
  yield* Effect.annotateLogs(Effect.logWarning("a warning"), { carrier_id: "naic:12345" })
  yield* Effect.logError("an error", new Error("The reason."))
})

describe("a program's logger", () => {
  it.live("gets every entry at its log level, with the fields before the message", () =>
    Effect.gen(function* () {
      const entries: Array<Entry> = []
      const quotewire = yield* embedded({ logger: listening((entry) => entries.push(entry)) })
      yield* Effect.promise(() => quotewire.run(sayAll))
      assert.deepStrictEqual(entries.slice(0, 3), [
        ["debug", "a debug entry"],
        ["info", "an entry"],
        ["warn", { carrier_id: "naic:12345" }, "a warning"]
      ])
      assert.match(JSON.stringify(entries[3]), /^\["error",.*The reason\./)
    })
  )

  it.live("gets the service's own log entries, but never a key", () =>
    Effect.gen(function* () {
      const entries: Array<Entry> = []
      const quotewire = yield* embedded({
        fictional_carriers: false,
        logger: listening((entry) => entries.push(entry))
      })
      const { key } = yield* keyOf(quotewire)
      assert.match(JSON.stringify(entries), /no sandbox carriers/)
      assert.notInclude(JSON.stringify(entries), key)
    })
  )

  it.live("may throw: the service continues, and prints the entries that the logger failed to log", () =>
    Effect.gen(function* () {
      const printed = vi.spyOn(console, "log").mockImplementation(() => {})
      yield* Effect.addFinalizer(() => Effect.sync(() => printed.mockRestore()))
      const logger = listening(() => {
        throw new Error("The disk is full.")
      })
      const quotewire = yield* embedded({ fictional_carriers: false, logger })
      assert.lengthOf((yield* keyOf(quotewire)).warnings, 1)
      yield* keyOf(quotewire)
      const said = printed.mock.calls.map((parts) => parts.join(" "))
      assert.lengthOf(
        said.filter((text) => text.includes("no sandbox carriers")),
        2
      )
      assert.lengthOf(
        said.filter((text) => text.includes("The logger in the `logger` option threw an error")),
        1
      )
    })
  )

  it.live("may be async: if its promise rejects, the entry is printed, and the rejection is handled", () =>
    Effect.gen(function* () {
      const printed = vi.spyOn(console, "log").mockImplementation(() => {})
      yield* Effect.addFinalizer(() => Effect.sync(() => printed.mockRestore()))
      const unhandled: Array<unknown> = []
      const note = (reason: unknown) => unhandled.push(reason)
      process.on("unhandledRejection", note)
      yield* Effect.addFinalizer(() => Effect.sync(() => process.off("unhandledRejection", note)))
      const write = async () => Promise.reject(new Error("The disk is full."))
      const logger: ProgramLogger = { debug: write, info: write, warn: write, error: write }
      const quotewire = yield* embedded({ fictional_carriers: false, logger })
      yield* keyOf(quotewire)
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      const said = printed.mock.calls.map((parts) => parts.join(" ")).join("\n")
      assert.include(said, "no sandbox carriers")
      assert.include(said, "The logger in the `logger` option threw an error")
      assert.notInclude(said, "The disk is full")
      assert.deepStrictEqual(unhandled, [])
    })
  )

  it("can be the console", () => {
    const logger: ProgramLogger = console
    assert.isFunction(logger.warn)
  })
})

describe("an embedded service's organizations", () => {
  it.live("are listed, oldest first", () =>
    Effect.gen(function* () {
      const quotewire = yield* embedded()
      for (const name of ["Acme", "Borealis"]) yield* Effect.promise(() => quotewire.createOrganization(name))
      const listed = yield* Effect.promise(() => quotewire.listOrganizations())
      assert.deepStrictEqual(
        listed.map(({ name }) => name),
        ["Acme", "Borealis"]
      )
      for (const { created_at } of listed) assert.match(created_at, /^\d{4}-\d\d-\d\dT.*Z$/)
    })
  )

  it.live("have ids that are plain strings", () =>
    Effect.gen(function* () {
      const quotewire = yield* embedded()
      const { key_id } = yield* keyOf(quotewire)
      const [organization] = yield* Effect.promise(() => quotewire.listOrganizations())
      const id = String(organization?.id)
      const listed = yield* Effect.promise(() => quotewire.listKeys(id))
      assert.deepStrictEqual(
        listed.map((key) => key.id),
        [key_id]
      )
      assert.match((yield* Effect.promise(() => quotewire.revokeKey(String(key_id)))).revoked_at ?? "", /^\d{4}-.*Z$/)
      for (const refused of [quotewire.listKeys("Acme"), quotewire.revokeKey(id), quotewire.listConnections("")]) {
        const error = yield* Effect.promise(() => refused.catch((error: unknown) => error))
        assert.isTrue(isApiError(error, "not_found"))
      }
    })
  )
})

describe("an embedded service's limits", () => {
  it.live("apply to calls that a host makes for outside callers, but not to the program's own calls", () =>
    Effect.gen(function* () {
      const clock = yield* TestClock.make()
      const storage = Layer.merge(MemoryStorage.layer, Layer.succeed(Clock.Clock, clock))
      const quotewire = yield* embedded({ storage })
      const { key } = yield* keyOf(quotewire)
      const client = quotewire.client(key)
      for (let n = 0; n < 61; n++) yield* Effect.promise(() => client.start_quote_request(startOf(`own-${n}`)))
      // Calls as a host does for a caller with the key.
      const startFor = (address: string, n: number) =>
        quotewire.run(
          Effect.result(
            Effect.flatMap(Ids, (ids) =>
              Pipeline.call(startQuoteRequest, {
                request_id: ids.request(),
                credentials: { key, read_handle: null, address, keyless: false },
                revision: "current",
                idempotency_key: null,
                input: Effect.succeed(startOf(`other-${n}`))
              })
            )
          )
        )
      const codes: Array<string> = []
      for (let n = 0; n < 61; n++) {
        const started = yield* Effect.promise(() => startFor("203.0.113.7", n))
        codes.push(Result.isSuccess(started) ? "started" : started.failure.code)
      }
      assert.deepStrictEqual([...new Set(codes.slice(0, 60))], ["started"])
      assert.strictEqual(codes[60], "rate_limited")
    })
  )
})

describe("isApiError", () => {
  it.live("recognizes only API errors, optionally with a given code", () =>
    Effect.gen(function* () {
      const quotewire = yield* embedded()
      const client = quotewire.client((yield* keyOf(quotewire)).key)
      const error = yield* Effect.promise(() =>
        client.start_quote_request({ ...startOf(), line: "renters", application: {} }).catch((error: unknown) => error)
      )
      if (!isApiError(error, "needs_information")) return assert.fail(String(error))
      assert.deepStrictEqual(
        error.field_errors?.map(({ path }) => path),
        ["application.dwelling.address.state", "application.dwelling.address.zip", "application.dwelling.type"]
      )
      assert.isTrue(isApiError(error))
      assert.isFalse(isApiError(error, "conflict"))
      for (const other of [new Error("needs_information"), { code: "needs_information" }, null, "no"]) {
        assert.isFalse(isApiError(other))
      }
    })
  )
})
