import { afterAll, assert, describe, it } from "@effect/vitest"
import {
  defineCarrier,
  embed,
  InvalidArgument,
  isApiError,
  Money,
  ratePlanCarrier,
  verifyWebhook
} from "@quotewire/core"
import { nodeHandler, protectedResource } from "@quotewire/http"
import { ApiError, connect, HostError } from "@quotewire/http/client"
import { webHandler } from "@quotewire/http/web"
import { mcp } from "@quotewire/mcp"
import { MemoryStorage } from "@quotewire/storage-memory"
import { postgres } from "@quotewire/storage-pg"
import * as fc from "fast-check"

/* Errors for programs that do not use Effect: what they name, and how a program tells them apart. */

/** A value of a type that the compiler does not know. */
const unknownTo = (json: string) => JSON.parse(json)

const service = embed({ storage: MemoryStorage.layer, public_url: "https://shop.example", work: false })
afterAll(() => service.close())

const errorOf = async (call: () => unknown): Promise<Error> => {
  try {
    await call()
  } catch (error) {
    assert.instanceOf(error, Error)
    return error
  }
  return assert.fail("It throws nothing.")
}

const nothing = () => undefined

describe("a call with several mistakes", () => {
  it.each<readonly [string, ReadonlyArray<string>, () => unknown]>([
    [
      "connect",
      ["base_url", "key", "max_retries", "timeout_ms", "fetch", "check_answer"],
      () =>
        connect(
          unknownTo(
            '{"base_url":"secret","key":"a secret","max_retries":-1,"timeout_ms":0,"fetch":"secret","check_answer":1}'
          )
        )
    ],
    [
      "nodeHandler",
      ["service", "base_path", "base_url", "cors_origins.1", "proxies", "grace_ms", "oauth.issuer", "read_timeout_ms"],
      () =>
        nodeHandler(unknownTo("{}"), {
          base_path: "secret",
          base_url: "secret",
          cors_origins: ["https://shop.example", "secret"],
          proxies: "secret",
          grace_ms: -1,
          read_timeout_ms: 0,
          oauth: { issuer: "secret", environment: "live", organization_id: "secret" },
          mcp
        })
    ],
    [
      "nodeHandler",
      ["mcp", "console", "limits", "proxies", "proxy_header"],
      () =>
        nodeHandler(
          service,
          unknownTo('{"mcp":"secret","console":"secret","limits":"secret","proxies":"secret","proxy_header":"secret"}')
        )
    ],
    [
      "webHandler",
      ["service", "base_path", "keyless", "docs_url"],
      () =>
        webHandler(unknownTo('"secret"'), {
          base_path: "secret",
          docs_url: "secret",
          keyless: { organization_id: "secret" }
        })
    ],
    [
      "protectedResource",
      ["base_url", "oauth.issuer", "oauth.environment"],
      () =>
        protectedResource({ base_url: "secret", oauth: unknownTo('{"issuer":"secret","organization_id":"secret"}') })
    ],
    [
      "embed",
      ["storage", "seal_keys.0", "public_url", "grace_ms", "fictional_carriers"],
      () =>
        embed(
          unknownTo(
            '{"storage":"secret","seal_keys":["secret"],"public_url":"secret","grace_ms":-1,"fictional_carriers":"secret"}'
          )
        ).ready
    ],
    [
      "consume",
      ["consumer name", "needs a function", "max_attempts", "timeout_ms"],
      () => service.consume("A secret", unknownTo("1"), { max_attempts: 0, timeout_ms: 0 })
    ],
    ["ratePlanCarrier", ["0.", "1."], () => ratePlanCarrier(unknownTo('[{"line":"secret"},{"carrier":"secret"}]'))],
    [
      "postgres",
      ["url must be", "pooler_url must be"],
      () => embed({ storage: postgres({ url: "secret", pooler_url: "secret" }) }).ready
    ],
    ["createOrganization", ["name"], () => service.createOrganization(unknownTo("null"))],
    ["createOrganization", ["name"], () => service.createOrganization("  ")],
    ["createKey", ["organization_id", "environment", "kind"], () => service.createKey(unknownTo("{}"))],
    ["events", ["limit", "poll_ms"], () => service.client("secret").events({ limit: 0, poll_ms: 0 })]
  ])("gets an error that lists every mistake: %s, %j", async (_, named, call) => {
    const { message } = await errorOf(call)
    for (const name of named) assert.include(message, name)
    assert.notMatch(message, /secret(?!s)/)
  })
})

describe("an invalid argument", () => {
  it("lists its mistakes as data", async () => {
    const mistakes = [{ path: "grace_ms", message: "Must be a number, at least 0." }]
    const error = await errorOf(() => nodeHandler(service, { grace_ms: -1 }))
    assert.deepStrictEqual(Reflect.get(error, "mistakes"), mistakes)
    assert.strictEqual(error.message, "nodeHandler got an invalid argument. grace_ms: Must be a number, at least 0.")
  })
})

describe("the name of a new organization", () => {
  const names = fc.oneof(fc.string({ unit: "binary" }), fc.string({ minLength: 150, maxLength: 250 }), fc.anything())

  it("is stored unchanged, or rejected before the organization is stored", async () => {
    const stored = async () => (await service.listOrganizations()).map(({ name }) => name)
    let accepted = 0
    await fc.assert(
      fc.asyncProperty(names, async (name) => {
        const before = await stored()
        try {
          await Reflect.apply(service.createOrganization, service, [name])
          assert.deepStrictEqual(await stored(), [...before, name])
          assert.match(String(name), /\S/u)
          accepted++
        } catch (error) {
          assert.instanceOf(error, InvalidArgument)
          assert.deepStrictEqual(await stored(), before)
        }
      }),
      { numRuns: 200 }
    )
    assert.isAbove(accepted, 0)
  })
})

describe("an invalid option of an embedded client", () => {
  it.each<readonly [string, () => unknown]>([
    ["wait_for_quotes", () => service.client("").wait_for_quotes("qreq_1", { timeout_ms: 0 })],
    ["events", () => service.client("").events({ limit: 0 })]
  ])("makes %s throw the exported InvalidArgument", async (_, call) => {
    assert.instanceOf(await errorOf(call), InvalidArgument)
  })
})

describe("an error in a program without Effect", () => {
  const carrier = unknownTo('{"id":"naic:12345","name":"Acme"}')
  it.each<readonly [string, string, () => unknown]>([
    ["InvalidArgument", "invalid_argument", () => connect(unknownTo("{}"))],
    ["InvalidArgument", "invalid_argument", () => nodeHandler(service, unknownTo("null"))],
    ["InvalidArgument", "invalid_argument", () => verifyWebhook(unknownTo("{}"))],
    ["InvalidArgument", "invalid_argument", () => service.client("").wait_for_quotes("qreq_1", { timeout_ms: 0 })],
    ["InvalidCarrier", "invalid_carrier", () => defineCarrier(carrier)],
    ["InvalidRatePlan", "invalid_rate_plan", () => ratePlanCarrier({})],
    ["InvalidMoney", "invalid_money", () => Money.dollars(-1)],
    ["InvalidConsumer", "invalid_consumer", () => service.consume("", nothing)],
    ["ServiceFailed", "invalid_config", () => embed(unknownTo("{}")).ready],
    ["ServiceFailed", "database_refused", () => embed({ storage: postgres({ url: "" }) }).ready],
    ["not_found", "not_found", () => service.createKey({ organization_id: "", environment: "live", kind: "server" })],
    ["authentication_failed", "authentication_failed", () => service.client("").list_events({})],
    [
      "invalid_input",
      "invalid_input",
      () => connect({ base_url: "http://127.0.0.1:9", key: "k" }).get_quote(unknownTo("1"))
    ],
    [
      "HostError",
      "unreachable",
      () =>
        connect({
          base_url: "http://127.0.0.1:9",
          key: "k",
          max_retries: 0,
          fetch: () => Promise.reject(new Error("refused"))
        }).list_events({})
    ]
  ])("has a tag, a code and a message: %s, %s", async (tag, code, call) => {
    const error = await errorOf(call)
    assert.deepStrictEqual([Reflect.get(error, "_tag"), Reflect.get(error, "code")], [tag, code])
    assert.match(error.message, /^[A-Z"a-z].{10}[\s\S]*[.\w]$/)
  })

  it("keeps the original error as its cause", async () => {
    const refused = await errorOf(() => embed({ storage: postgres({ url: "" }) }).ready)
    assert.include(refused.cause, { _tag: "DatabaseRefused", reason: "address" })
    const cause = new Error("refused")
    const options = { base_url: "http://127.0.0.1:9", key: "k", max_retries: 0, fetch: () => Promise.reject(cause) }
    const lost = await errorOf(() => connect(options).list_events({}))
    assert.instanceOf(lost, HostError)
    assert.isDefined(lost.cause)
  })

  it("is recognized by isApiError, whether from an embedded service or from a client", async () => {
    const embedded = await errorOf(() => service.client("").list_events({}))
    const remote = await errorOf(() => connect({ base_url: "http://127.0.0.1:9", key: "k" }).get_quote(unknownTo("1")))
    assert.isTrue(isApiError(embedded, "authentication_failed"))
    assert.isTrue(isApiError(remote, "invalid_input"))
    assert.instanceOf(remote, ApiError)
  })
})
