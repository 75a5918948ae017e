import { assert, describe, it } from "@effect/vitest"
import { Allowance, FinishedCall } from "@quotewire/core"
import { World } from "@quotewire/core/testing"
import { OAuth } from "@quotewire/http"
import { Effect, Layer, Result } from "effect"
import { TestClock } from "effect/testing"
import { Agents, baseUrl, toolsCall } from "./support/agents.ts"
import * as Issuer from "./support/issuer.ts"
import { bearer, metadataUrl, oauth, sendWith, withIssuer } from "./support/issuer.ts"

const toolNames = (token: string) =>
  Effect.map(sendWith(token, { jsonrpc: "2.0", id: 1, method: "tools/list" }), ({ body }) =>
    body.result.tools.map(({ name }: { readonly name: string }) => name)
  )

const listRequests = toolsCall("list_quote_requests")

describe("an issuer's token", () => {
  it.effect("allows what its widest scope allows, in its organization's workspace", () =>
    withIssuer(
      Effect.fnUntraced(function* ({ token }) {
        const agents = yield* Agents
        const platform = yield* token()
        assert.notInclude(yield* toolNames(platform), "list_quote_requests")
        for (const claims of [{ scope: "openid quotes:all quotes" }, { scope: undefined, scp: ["quotes:all"] }]) {
          assert.include(yield* toolNames(yield* token(claims)), "list_quote_requests")
        }
        const started = yield* sendWith(
          platform,
          toolsCall("start_quote_request", {
            ...{ line: "renters", request_key: "k-1", consent_receipt_id: "receipt-0001" },
            application: { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }
          })
        )
        const { id } = started.body.result.structuredContent
        const { structuredContent } = yield* agents.call("list_quote_requests", {}, "server")
        assert.deepStrictEqual(
          structuredContent.quote_requests.map((one: { readonly id: string }) => one.id),
          [id]
        )
      })
    )
  )

  it.effect("allows what a platform key allows if the host configures no scopes", () =>
    withIssuer(
      Effect.fnUntraced(function* ({ token }) {
        const names = yield* toolNames(yield* token({ scope: undefined }))
        assert.include(names, "start_quote_request")
        assert.notInclude(names, "list_quote_requests")
      }),
      { oauth: { issuer: Issuer.issuerUrl } }
    )
  )

  it.effect("is refused with 401 and a reason if it is not valid for this service", () =>
    withIssuer(
      Effect.fnUntraced(function* ({ keys, token }) {
        yield* TestClock.adjust("1 day")
        const secret = new TextEncoder().encode(JSON.stringify(keys[0]))
        const unsigned = (yield* token()).split(".")
        const header = Buffer.from(JSON.stringify({ alg: "none" })).toString("base64url")
        const cases: ReadonlyArray<readonly [string, Effect.Effect<string>]> = [
          ["another resource", token({ aud: "https://other.example/v1/mcp" })],
          ["another resource", token({ aud: baseUrl })],
          ["another issuer", token({ iss: "https://login.example" })],
          ["has expired", token({ exp: 1 })],
          ["not valid yet", token({ nbf: 4_000_000_000 })],
          ["not valid", token({ exp: undefined })],
          ["not valid", token({ sub: undefined })],
          ...[null, "", 7, ["user-1"], {}].map((sub) => ["has no subject", token({ sub })] as const),
          ["not valid", token({}, { alg: "HS256", key: secret })],
          ["not valid", Effect.succeed(`${header}.${unsigned[1]}.`)],
          ["not valid", Effect.succeed(`${unsigned[0]}.${unsigned[1]}.${"A".repeat(86)}`)],
          ["too long", Effect.succeed(`${unsigned[0]}.${"A".repeat(9_000)}.${unsigned[2]}`)],
          ["does not publish", token({}, { kid: "k99" })],
          ["bound to a client's key", token({ cnf: { jkt: "x" } })]
        ]
        for (const [reason, made] of cases) {
          const { body, headers, status } = yield* sendWith(yield* made)
          assert.deepStrictEqual([status, body.error.code], [401, "authentication_failed"], reason)
          assert.include(body.error.message, reason)
          const told = `Bearer error="invalid_token", error_description="${body.error.message}", scope="quotes", `
          assert.strictEqual(headers["www-authenticate"], `${told}resource_metadata="${metadataUrl}"`)
        }
      })
    )
  )

  it.effect("expires on time, with a small leeway, even if it is cached", () =>
    withIssuer(
      Effect.fnUntraced(function* ({ token }) {
        const used = yield* token()
        const status = Effect.map(sendWith(used), ({ status }) => status)
        assert.strictEqual(yield* status, 200)
        yield* TestClock.adjust("1 hour")
        assert.strictEqual(yield* status, 200)
        yield* TestClock.adjust("31 seconds")
        assert.strictEqual(yield* status, 401)
      })
    )
  )

  it.effect("is refused with 403 and a challenge for the narrowest scope if it has no valid scope", () =>
    withIssuer(
      Effect.fnUntraced(function* ({ token }) {
        const { headers, status } = yield* sendWith(yield* token({ scope: "openid toString" }))
        assert.strictEqual(status, 403)
        assert.include(headers["www-authenticate"], 'error="insufficient_scope"')
        assert.include(headers["www-authenticate"], 'scope="quotes"')
      })
    )
  )

  it.effect("is refused with 403 and no challenge if its organization is unknown", () =>
    withIssuer(
      Effect.fnUntraced(function* ({ token }) {
        const { organization } = yield* World.World
        const missing = organization.id.replace(/.$/, (last) => (last === "0" ? "1" : "0"))
        for (const org_id of [undefined, 7, "acme", "toString", missing]) {
          const { body, headers, status } = yield* sendWith(yield* token({ org_id }))
          assert.deepStrictEqual([status, body.error], [403, "forbidden"])
          assert.isUndefined(headers["www-authenticate"])
        }
        assert.strictEqual((yield* sendWith(yield* token({ org_id: organization.id }))).status, 200)
      }),
      { oauth: { ...oauth, organizations: { claim: "org_id" } } }
    )
  )

  it.effect("counts against its subject's limits, and is logged under the subject's hash", () => {
    const calls: Array<FinishedCall.FinishedCall> = []
    const limits = Allowance.readLimits('{"keys":{"sandbox":{"read":{"per_minute":2}}}}')
    return withIssuer(
      Effect.fnUntraced(function* ({ token }) {
        const statusOf = Effect.fnUntraced(function* (sub: string) {
          const { body } = yield* sendWith(yield* token({ sub }))
          return body.result.isError ? body.result.structuredContent.error.code : "answered"
        })
        const ada = [yield* statusOf("ada@example.com"), yield* statusOf("ada@example.com")]
        assert.deepStrictEqual([...ada, yield* statusOf("ada@example.com")], ["answered", "answered", "rate_limited"])
        assert.strictEqual(yield* statusOf("grace@example.com"), "answered")
        const ids = calls.map(({ caller }) => caller.key_id)
        assert.deepStrictEqual([ids[0], ids[1], ids[2] === ids[3]], [ids[1], ids[2], false])
        assert.notMatch(JSON.stringify(calls), /@example\.com|eyJ/)
      }),
      { limits: Result.getOrThrow(limits) }
    ).pipe(Effect.provide(Layer.succeed(FinishedCall.OnFinishedCall, (call) => void calls.push(call))))
  })
})

describe("callers without a token", () => {
  it.effect("are accepted with a key, or without a key if the host has a keyless workspace", () =>
    withIssuer(
      Effect.fnUntraced(function* () {
        const agents = yield* Agents
        assert.isFalse((yield* agents.call("list_quote_requests", {}, "server")).isError)
        assert.isTrue((yield* agents.call("list_quote_requests", {}, "platform")).isError)
        assert.isFalse((yield* agents.call("get_capabilities", { line: "renters" })).isError)
        const wrong = yield* agents.send({ ...bearer("nonsense"), message: {} })
        assert.include(wrong.headers["www-authenticate"], 'error="invalid_token"')
      })
    )
  )

  it.effect("get a challenge to sign in for a tool that needs a scope", () =>
    withIssuer(
      Effect.fnUntraced(function* ({ token }) {
        const keyless = yield* sendWith(null, listRequests)
        const challenge = `Bearer scope="quotes:all", resource_metadata="${metadataUrl}"`
        assert.deepStrictEqual([keyless.status, keyless.headers["www-authenticate"]], [401, challenge])
        const platform = yield* sendWith(yield* token(), listRequests)
        assert.deepStrictEqual([platform.status, platform.body.error.code], [403, "forbidden"])
        assert.include(platform.headers["www-authenticate"], 'error="insufficient_scope"')
        assert.include(platform.headers["www-authenticate"], 'scope="quotes:all"')
      })
    )
  )

  it.effect("get a tool error, not a challenge, for a tool that no scope allows", () =>
    withIssuer(
      Effect.fnUntraced(function* () {
        const { body, status } = yield* sendWith(null, listRequests)
        assert.deepStrictEqual([status, body.result.isError], [200, true])
      }),
      { oauth: { ...oauth, scopes: { quotes: "platform" } } }
    )
  )

  it.effect("get a challenge to sign in if the host requires OAuth or has no keyless workspace", () =>
    Effect.forEach([{ oauth: { ...oauth, required: true } }, { keyless: false }], (options) =>
      withIssuer(
        Effect.fnUntraced(function* () {
          const { body, headers, status } = yield* sendWith(null)
          assert.deepStrictEqual([status, body.error.code], [401, "authentication_failed"])
          assert.strictEqual(headers["www-authenticate"], `Bearer scope="quotes", resource_metadata="${metadataUrl}"`)
          const agents = yield* Agents
          assert.isFalse((yield* agents.call("get_capabilities", { line: "renters" }, "platform")).isError)
        }),
        options
      )
    )
  )
})

describe("a client address", () => {
  it.effect("gets 429 after too many invalid tokens, but can still use a cached valid token", () =>
    withIssuer(
      Effect.fnUntraced(function* ({ token }) {
        const good = yield* token()
        assert.strictEqual((yield* sendWith(good)).status, 200)
        const wrong = yield* token({ aud: "https://other.example" })
        const statuses = Effect.map(sendWith(wrong), ({ status }) => status)
        assert.deepStrictEqual([yield* statuses, yield* statuses, yield* statuses], [401, 401, 429])
        assert.strictEqual((yield* sendWith(good)).status, 200)
      }),
      { limits: Result.getOrThrow(Allowance.readLimits('{"failed_authentication":{"per_minute":2}}')) }
    )
  )

  it.effect("is not limited for GET requests with a valid token", () =>
    withIssuer(
      Effect.fnUntraced(function* ({ token }) {
        const agents = yield* Agents
        const good = yield* token()
        for (let i = 0; i < 4; i++) {
          assert.strictEqual((yield* agents.send({ ...bearer(good), method: "GET" })).status, 405)
        }
        assert.strictEqual((yield* sendWith(yield* token({ sub: "b" }))).status, 200)
      }),
      { limits: Result.getOrThrow(Allowance.readLimits('{"failed_authentication":{"per_minute":2}}')) }
    )
  )
})

describe("the MCP endpoint's OAuth metadata", () => {
  it.effect("names the issuer and the scopes at every well-known URL", () =>
    withIssuer(
      Effect.fnUntraced(function* () {
        const agents = yield* Agents
        const below = "/.well-known/oauth-protected-resource"
        for (const path of [below, `${below}/v1/mcp`, `${below}/insurance/v1/mcp`]) {
          const { body, headers, status } = yield* agents.send({ method: "GET", path })
          assert.deepStrictEqual([status, headers["access-control-allow-origin"]], [200, "*"])
          const page = yield* agents.send({ method: "OPTIONS", path, headers: { origin: "https://pages.example" } })
          assert.deepStrictEqual([page.status, page.headers["access-control-allow-origin"]], [204, "*"])
          assert.deepStrictEqual(body, {
            resource: `${baseUrl}/v1/mcp`,
            authorization_servers: [Issuer.issuerUrl],
            scopes_supported: ["quotes", "quotes:all"],
            bearer_methods_supported: ["header"],
            resource_name: "Insurance quotes"
          })
        }
      })
    )
  )
})

describe("an invalid oauth option", () => {
  it("is rejected with an error that names the option and the requirement", () => {
    const good = { issuer: "https://login.example", environment: "sandbox", organization_id: `org_${"0".repeat(26)}` }
    const cases: ReadonlyArray<readonly [object, RegExp]> = [
      [{ ...good, issuer: "http://login.example" }, /^oauth\.issuer: Must be an https address/],
      [{ ...good, issuer: "https://login.example?x=1" }, /^oauth\.issuer: /],
      [{ ...good, environment: "test" }, /^oauth\.environment: /],
      [{ ...good, organization_id: "acme" }, /^oauth\.organization_id: /],
      [{ ...good, organizations: { claim: "org_id" } }, /either organization_id or organizations/],
      [{ issuer: good.issuer, environment: "live" }, /either organization_id or organizations/],
      [{ ...good, scopes: {} }, /^oauth\.scopes: /],
      [{ ...good, scopes: { quotes: "widget" } }, /^oauth\.scopes\.quotes: /],
      [{ ...good, scopes: { 'quo"tes': "server" } }, /^oauth\.scopes/],
      [{ ...good, algorithms: ["HS256"] }, /^oauth\.algorithms\.0: /],
      [{ ...good, jwks_url: "http://login.example/keys" }, /^oauth\.jwks_url: /],
      [{ ...good, isuer: "x" }, /^oauth\.isuer: /]
    ]
    assert.isTrue(Result.isSuccess(OAuth.check(good)))
    for (const [options, message] of cases) {
      const checked = OAuth.check(options)
      assert.match(Result.isFailure(checked) ? checked.failure.message : "accepted", message)
    }
  })
})
