import { assert, describe, it } from "@effect/vitest"
import { Ids, type Pipeline, type Quotewire } from "@quotewire/core"
import { World } from "@quotewire/core/testing"
import { OAuth, type Route, ServiceApi } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect, Exit, Result } from "effect"
import { TestClock } from "effect/testing"
import { baseUrl } from "./support/agents.ts"
import * as Issuer from "./support/issuer.ts"

/*
 * An issuer's tokens at the operators' API. The tests are here because the test issuer is.
 */

const audience = `${baseUrl}/operator/v1`
const scope = "openid operator:read operator:facts"

/** Calls an operation without a body over its route, and reads the response. */
const call = Effect.fnUntraced(function* (name: string, token: string, query = "") {
  const { organization } = yield* World.World
  const oauth = Result.getOrThrow(
    OAuth.check({ issuer: Issuer.issuerUrl, environment: "sandbox", organization_id: organization.id })
  )
  const routes = ServiceApi.of({ operators: true, oauth }).routesAt?.(baseUrl) ?? []
  const route = routes.find((one) => one.name === name) ?? assert.fail(name)
  const incoming: Route.Incoming = {
    request_id: (yield* Ids.Ids).request(),
    method: route.method,
    params: {},
    query,
    header: (header) => (header === "authorization" ? `Bearer ${token}` : null),
    headers: {},
    address: "192.0.2.1",
    docs_url: `${baseUrl}/docs`,
    public_path: "",
    read: () => Effect.succeed(new TextEncoder().encode('{"name":"Acme"}')),
    readRaw: () => Effect.die("Nothing reads it")
  }
  const exit = yield* Effect.exit(route.handle(incoming))
  return Exit.isSuccess(exit) ? { status: exit.value.status, body: JSON.parse(String(exit.value.body)) } : exit
})

const refusal = (name: string, token: string) =>
  Effect.map(call(name, token), (answer) => {
    if (!Exit.isExit(answer) || Exit.isSuccess(answer)) return assert.fail("It was not refused")
    const [reason] = answer.cause.reasons
    return reason?._tag === "Fail" ? reason.error._tag : assert.fail("It failed otherwise")
  })

const test = (
  name: string,
  body: (
    issuer: Issuer.Issuer
  ) => Effect.Effect<void, unknown, World.World | Quotewire.Services | ServiceApi.Services | Pipeline.PipelineServices>
) =>
  it.effect(name, () =>
    Effect.gen(function* () {
      yield* TestClock.adjust("1 day")
      const issuer = yield* Issuer.make()
      yield* issuer.behind(Effect.provide(body(issuer), World.World.layer(MemoryStorage.layer)))
    })
  )

describe("an issuer's token for the operators' API", () => {
  test("allows what its scopes allow, and appears in the audit log under its subject", (issuer) =>
    Effect.gen(function* () {
      const token = yield* issuer.token({ aud: audience, scope, sub: "ann@support.example" })
      const listed = yield* call("list_organizations", token)
      assert.include(JSON.stringify(listed), "A test")
      assert.strictEqual(yield* refusal("create_organization", token), "forbidden")
      const log = JSON.stringify(yield* call("list_audit_log", token))
      assert.include(log, '"token_name":"ann@support.example"')
      assert.include(log, '"operation":"create_organization","scope":"write"')
    }))

  test("is refused if it has the wrong resource, scope or issuer", (issuer) =>
    Effect.gen(function* () {
      const cases = [
        ["authentication_failed", yield* issuer.token({ scope })],
        ["authentication_failed", yield* issuer.token({ aud: audience, scope, exp: 1 })],
        ["authentication_failed", yield* issuer.token({ aud: audience, scope, iss: "https://other.example" })],
        ["authentication_failed", yield* issuer.token({ aud: audience, scope, sub: "" })],
        ["forbidden", yield* issuer.token({ aud: audience, scope: "quotes:all" })]
      ] as const
      for (const [code, token] of cases) assert.strictEqual(yield* refusal("list_organizations", token), code)
    }))
})
