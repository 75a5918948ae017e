import { assert, describe, it } from "@effect/vitest"
import { Access, OperatorTokens, operations, operatorOperations } from "@quotewire/core"
import { Http, ServiceApi } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Context, Effect, Layer } from "effect"
import { services } from "./support/host.ts"

/*
 * Who may call the operators' API: each operation with each kind of credential. Expired tokens are tested in
 * packages/core/test/operators/.
 */

type Operation = (typeof operatorOperations)[number]

const whole = Layer.merge(services, MemoryStorage.layer)

const start = Effect.gen(function* () {
  const context = yield* Layer.build(
    Http.layer({ ...ServiceApi.of({ operators: true }), port: 0, drain_ms: 0 }).pipe(Layer.provideMerge(whole))
  )
  const { base_url } = Context.get(context, Http.Host)
  const access = Context.get(context, Access.Access)
  const tokens = Context.get(context, OperatorTokens.OperatorTokens)
  const own = yield* access.createOrganization("Own")
  const other = yield* access.createOrganization("Other")
  const keyOf = (environment: "sandbox" | "live", kind: "server" | "widget" | "platform") =>
    Effect.map(access.createKey({ organization_id: own.id, environment, kind }), ({ key }) => key)
  const send = (method: string, path: string, bearer: string | null, json?: unknown, headers = {}) =>
    Effect.promise(async () => {
      const response = await fetch(`${base_url}${path}`, {
        method,
        headers: {
          ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
          ...(json === undefined ? {} : { "content-type": "application/json" }),
          ...headers
        },
        ...(json === undefined ? {} : { body: JSON.stringify(json) })
      })
      return { status: response.status, text: await response.text() }
    })
  const all = ["read", "write", "facts"] as const
  return { tokens, own, other, keyOf, send, all, base_url }
})

const json = (text: string) => JSON.parse(text)

/** Calls an operation about something that an existing organization has, with a valid or an empty body. */
const knock = (
  { own, send }: Effect.Success<typeof start>,
  { route }: Operation,
  bearer: string | null,
  organization = own.id
) => {
  const path = route.path.replace("{organization_id}", organization).replace(/\{\w+\}/g, "none")
  return send(route.method, path, bearer, route.method === "GET" ? undefined : {})
}

const everyOperation: ReadonlyArray<Operation> = operatorOperations

describe("the operators' API", () => {
  it.live("returns 401 from every operation without a valid operator token", () =>
    Effect.gen(function* () {
      const host = yield* start
      const { all, keyOf, send, tokens } = host
      const elsewhere = yield* start
      const revoked = yield* tokens.create({ name: "revoked", scopes: all })
      yield* tokens.revoke(revoked.details.id)
      const valid = yield* tokens.create({ name: "valid", scopes: all })
      const foreign = yield* elsewhere.tokens.create({ name: "foreign", scopes: all })
      const started = json(
        (yield* send("POST", "/v1/quote-requests", yield* keyOf("sandbox", "widget"), {
          line: "pet",
          request_key: "one",
          consent_receipt_id: "receipt-0001",
          application: {
            residence: { state: "TX", zip: "78701" },
            pets: [{ species: "cat", breed: "mixed", age_years: 3 }]
          }
        })).text
      )
      const bearers: Readonly<Record<string, string | null>> = {
        "no token": null,
        "a server key": yield* keyOf("sandbox", "server"),
        "a widget key": yield* keyOf("sandbox", "widget"),
        "a platform key": yield* keyOf("sandbox", "platform"),
        "a live server key": yield* keyOf("live", "server"),
        "a live widget key": yield* keyOf("live", "widget"),
        "a live platform key": yield* keyOf("live", "platform"),
        "a read handle": started.read_handle,
        "a mistyped token": valid.token.slice(0, -1) + (valid.token.endsWith("a") ? "b" : "a"),
        "a token of another deployment": foreign.token,
        "a revoked token": revoked.token
      }
      // Every operation refuses all of them in the same way.
      for (const [who, bearer] of Object.entries(bearers)) {
        for (const operation of everyOperation) {
          const { status, text } = yield* knock(host, operation, bearer)
          assert.strictEqual(status, 401, `${operation.name} with ${who}: ${text}`)
          assert.deepStrictEqual(Object.keys(json(text)), ["error", "request_id"])
        }
      }
      // Refused callers leave no entry in the audit log.
      const { entries } = json((yield* send("GET", "/operator/v1/audit-log", valid.token)).text)
      assert.deepStrictEqual(entries, [])
    })
  )

  it.live("requires the scope of each operation, and adds refused calls to the audit log", () =>
    Effect.gen(function* () {
      const host = yield* start
      const { all, send, tokens } = host
      const reader = yield* tokens.create({ name: "reader", scopes: ["read"] })
      for (const operation of everyOperation) {
        const others = all.filter((scope) => scope !== operation.scope)
        const { token, details } = yield* tokens.create({ name: "others", scopes: others })
        const { status } = yield* knock(host, operation, token)
        assert.strictEqual(status, 403, operation.name)
        const log = yield* send("GET", `/operator/v1/audit-log?token_id=${details.id}`, reader.token)
        const [entry, ...rest] = json(log.text).entries
        assert.deepStrictEqual(
          [entry.operation, entry.token_name, entry.outcome, entry.error_code, rest.length],
          [operation.name, "others", "refused", "forbidden", 0]
        )
      }
    })
  )

  it.live("adds every call with a valid token to the audit log, whether the call succeeds or not", () =>
    Effect.gen(function* () {
      const host = yield* start
      const { all, send, tokens } = host
      const { details, token } = yield* tokens.create({ name: "desk", scopes: all })
      for (const operation of everyOperation) {
        const { status, text } = yield* knock(host, operation, token)
        const log = yield* send("GET", `/operator/v1/audit-log?limit=1&operation=${operation.name}`, token)
        const [entry] = json(log.text).entries
        const { error = null } = json(text)
        assert.deepStrictEqual(
          [entry.operation, entry.token_id, entry.outcome, entry.error_code],
          [operation.name, details.id, status < 300 ? "succeeded" : "refused", error === null ? null : error.code],
          text
        )
      }
    })
  )

  it.live("hides other organizations' data from an organization's token", () =>
    Effect.gen(function* () {
      const host = yield* start
      const { all, other, send, tokens } = host
      const { token } = yield* tokens.create({ name: "other's", scopes: all, organization_id: other.id })
      for (const operation of everyOperation) {
        const { status, text } = yield* knock(host, operation, token)
        if (operation.reach === "deployment") assert.strictEqual(status, 403, `${operation.name}: ${text}`)
        else if (status !== 200) assert.include([404, 422], status, `${operation.name}: ${text}`)
        assert.notInclude(text, host.own.id, operation.name)
      }
      const listed = json((yield* send("GET", "/operator/v1/organizations", token)).text)
      assert.deepStrictEqual(
        listed.organizations.map(({ id }: { readonly id: string }) => id),
        [other.id]
      )
    })
  )

  it.live("uses tokens that the public API rejects", () =>
    Effect.gen(function* () {
      const { all, send, tokens } = yield* start
      const { token } = yield* tokens.create({ name: "everything", scopes: all })
      for (const { route } of operations) {
        const path = route.path.replace(/\{\w+\}/g, "none")
        const { status } = yield* send(route.method, path, token, route.method === "GET" ? undefined : {})
        assert.strictEqual(status, 401, path)
      }
    })
  )

  it.live("returns 404 from every operation by default", () =>
    Effect.gen(function* () {
      const context = yield* Layer.build(
        Http.layer({ ...ServiceApi.of(), port: 0, drain_ms: 0 }).pipe(Layer.provideMerge(whole))
      )
      const { base_url } = Context.get(context, Http.Host)
      const { token } = yield* Context.get(context, OperatorTokens.OperatorTokens).create({
        name: "early",
        scopes: ["read"]
      })
      for (const { route } of [...everyOperation, { route: { path: "/operator/openapi.json" } }]) {
        const response = yield* Effect.promise(() =>
          fetch(base_url + route.path, { headers: { authorization: `Bearer ${token}` } })
        )
        assert.strictEqual(response.status, 404, route.path)
      }
    })
  )
})
