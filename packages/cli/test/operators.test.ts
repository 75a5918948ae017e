import { assert, describe, it } from "@effect/vitest"
import { type Carrier, embed, generateSealKey, OperatorTokens } from "@quotewire/core"
import { ExampleApplications } from "@quotewire/core/testing"
import { nodeHandler } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect } from "effect"
import { runInProcess } from "./support/inProcess.ts"
import { server } from "./support/servedHost.ts"

/** A live carrier that needs a connection, and declines with its own message. */
const carrier: Carrier.CarrierAdapter = {
  carrier: { id: "mga:acme", name: "Acme", registry_ids: [] },
  environments: ["live"],
  lines: {
    renters: {
      states: ["NY"],
      needs: [],
      uses_credit: false,
      mode: "sync",
      idempotent: true,
      attempt_timeout_ms: 10_000,
      typical_ms: 100,
      hedge_after_ms: null,
      rate_per_minute: 100,
      max_concurrent: 10
    }
  },
  handoff_hosts: [],
  connection: { producer_code: "string", api_key: "secret" },
  ask: () => Effect.succeed({ kind: "declined", reason: "prior_claims", message: "Not for this person." })
}

/** A host with the operators' API, a token with all scopes, and a way to run commands with it. */
const start = Effect.gen(function* () {
  const quotewire = yield* Effect.acquireRelease(
    Effect.sync(() =>
      embed({
        storage: MemoryStorage.layer,
        seal_keys: [generateSealKey()],
        carriers: [carrier],
        public_url: "https://quotes.example.com"
      })
    ),
    ({ close }) => Effect.promise(close)
  )
  const { address } = yield* server(nodeHandler(quotewire, { operators: true }))
  const tokenWith = (scopes: ReadonlyArray<"read" | "write" | "facts">) =>
    Effect.promise(() =>
      quotewire.run(OperatorTokens.OperatorTokens.use((tokens) => tokens.create({ name: "desk", scopes })))
    )
  const { token } = yield* tokenWith(["read", "write", "facts"])
  const env = { QUOTEWIRE_BASE_URL: address, QUOTEWIRE_OPERATOR_TOKEN: token }
  const run = (args: ReadonlyArray<string>, input?: string) => runInProcess(args, env, input)
  /** Runs a command that must succeed, and reads its JSON. */
  const json = (...args: ReadonlyArray<string>) =>
    Effect.map(run([...args, "--json"]), ({ err, how, out }) => {
      assert.strictEqual(how, "done", err)
      return JSON.parse(out)
    })
  return { quotewire, address, env, run, json, tokenWith }
})

/** A host on which the carrier, over an organization's connection, has declined a request. */
const withRequest = Effect.gen(function* () {
  const host = yield* start
  const { json, quotewire, run } = host
  const { organization_id } = yield* json("organizations", "create", "Acme")
  const organization = ["--organization", organization_id]
  const live = ["--environment", "live"]
  const connection = ["connections", "set", ...organization, "--carrier", "mga:acme", ...live]
  yield* run(connection, "producer_code=1\napi_key=Zq7xSecretZq7x")
  const { key } = yield* json("keys", "create", ...organization, ...live, "--kind", "server")
  const client = quotewire.client(key)
  const { id } = yield* Effect.promise(() =>
    client.start_quote_request({
      line: "renters",
      consent_receipt_id: "receipt-1",
      request_key: "once",
      application: ExampleApplications.smallest.renters
    })
  )
  yield* Effect.promise(() => client.wait_for_quotes(id))
  return { ...host, id, organization_id }
})

describe("a command with an operator's token", () => {
  it.live("manages a host's organizations and keys", () =>
    Effect.gen(function* () {
      const { json, run } = yield* start
      const { organization_id } = yield* json("organizations", "create", "Acme")
      assert.deepStrictEqual(yield* json("organizations", "list"), {
        organizations: [{ organization_id, name: "Acme" }]
      })
      const place = ["--organization", organization_id]
      const created = yield* json("keys", "create", ...place, "--environment", "live", "--kind", "server")
      assert.match(created.key, /^live_server_/)
      assert.isUndefined(created.warnings)
      const { keys } = yield* json("keys", "list", ...place)
      assert.deepInclude(keys[0], { key_id: created.key_id, environment: "live", revoked_at: null })
      assert.isString((yield* json("keys", "revoke", created.key_id)).revoked_at)
      const nowhere = yield* run(["keys", "list", "--organization", `org_${"7".repeat(26)}`])
      assert.deepInclude(nowhere, { how: "failed", err: "quotewire: No such organization." })
    })
  )

  it.live("sets and lists a connection without showing the secret", () =>
    Effect.gen(function* () {
      const { json, run } = yield* start
      const { organization_id } = yield* json("organizations", "create", "Acme")
      const place = ["--organization", organization_id, "--carrier", "mga:acme", "--environment", "live"]
      const set = yield* run(["connections", "set", ...place], "producer_code=1\napi_key=Zq7xSecretZq7x")
      assert.strictEqual(set.how, "done", set.err)
      assert.notInclude(set.out, "Zq7x")
      const wrong = yield* run(["connections", "set", ...place], "producer_code=1")
      assert.include(wrong.err, "api_key: This field is required.")
      assert.include((yield* run(["connections", "list", "--organization", organization_id])).out, "mga:acme  live")
    })
  )

  it.live("shows a request's timeline, but shows the carrier's answer only with the facts scope", () =>
    Effect.gen(function* () {
      const { env, id, run, tokenWith } = yield* withRequest
      const shown = yield* run(["requests", "show", id])
      assert.match(shown.out, /\nmga:acme\n(?: .*\n)* +\d+\.\d{3} {2}outcome {4}declined \(prior_claims\)/)
      assert.notInclude((yield* run(["requests", "show", id, "--json"])).out, "Not for this person.")
      assert.include((yield* run(["requests", "show", id, "--bodies", "--json"])).out, "Not for this person.")
      const reader = yield* tokenWith(["read"])
      const withReader = { ...env, QUOTEWIRE_OPERATOR_TOKEN: reader.token }
      const refused = yield* runInProcess(["requests", "show", id, "--bodies"], withReader)
      assert.deepInclude(refused, {
        how: "failed",
        err: "quotewire: The host refused the call: The token lacks the facts scope."
      })
    })
  )

  it.live("shows the status of carriers and consumers", () =>
    Effect.gen(function* () {
      const { json, organization_id } = yield* withRequest
      const [status] = (yield* json("carriers", "status")).carriers
      assert.deepInclude(status, { carrier_id: "mga:acme", circuit: "closed", organization_id })
      assert.deepStrictEqual(yield* json("carriers", "reset", "mga:acme"), { carriers: [] })
      assert.deepStrictEqual(yield* json("consumers", "list"), { consumers: [] })
    })
  )

  it.live("erases a request's data, after a dry run that lists what would be erased", () =>
    Effect.gen(function* () {
      const { id, json } = yield* withRequest
      assert.strictEqual((yield* json("erase", id, "--dry-run")).to_erase, 1)
      assert.strictEqual((yield* json("erase", id, "--by", "ticket 1")).erased, 1)
    })
  )

  it.live("explains what is wrong with the host, the token or the settings", () =>
    Effect.gen(function* () {
      const { env, quotewire, run } = yield* start
      const list = ["organizations", "list"]
      const both = yield* run([...list, "--cells", "cells.json"])
      assert.deepInclude(both, { how: "wrong usage" })
      assert.include(both.err, "Use either --operator-token")
      const mistyped = yield* runInProcess(list, { ...env, QUOTEWIRE_OPERATOR_TOKEN: "operator_x" })
      assert.include(mistyped.err, "--operator-token (or QUOTEWIRE_OPERATOR_TOKEN) must be a complete token")
      const plain = yield* server(nodeHandler(quotewire))
      const without = yield* runInProcess(list, { ...env, QUOTEWIRE_BASE_URL: plain.address })
      assert.include(without.err, "The host refused the call (not_found)")
      const foreign = yield* server((_, response) => response.end("hello"))
      const strange = yield* runInProcess(list, { ...env, QUOTEWIRE_BASE_URL: foreign.address })
      assert.include(strange.err, "has no operators' API")
      const away = yield* runInProcess(list, { ...env, QUOTEWIRE_BASE_URL: "http://127.0.0.1:1" })
      assert.include(away.err, "Cannot reach the host at http://127.0.0.1:1.")
    })
  )
})
