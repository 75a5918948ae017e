import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as AdapterRules from "../../src/carriers/AdapterRules.ts"
import { type CarrierAdapter, CarrierAdapters } from "../../src/carriers/Carrier.ts"
import { defineCarrier, InvalidCarrier } from "../../src/carriers/defineCarrier.ts"
import * as Reply from "../../src/carriers/Reply.ts"
import { sandboxCarriers, webCryptography } from "../../src/Quotewire.ts"

const ask = () => Reply.decline("prior_claims")

const acme = defineCarrier({
  id: "naic:12345",
  name: "Acme Mutual",
  lines: { renters: { states: ["NY"] } },
  handoff_hosts: ["quotes.acme.example"],
  ask
})

/** The adapter with some values replaced, as an untyped program could make it. */
const withOther = (changes: object): CarrierAdapter => Object.assign({}, acme, changes)
const withTerms = (terms: object): CarrierAdapter =>
  withOther({ lines: { renters: Object.assign({}, acme.lines.renters, terms) } })

const pathsOf = (adapter: CarrierAdapter) => AdapterRules.check(adapter).map(({ path }) => path)

describe("the rules for adapters", () => {
  it("accept a carrier made by defineCarrier, even with an id from a registry other than the NAIC", () => {
    assert.deepStrictEqual(AdapterRules.check(acme), [])
    const mga = withOther({ carrier: { ...acme.carrier, id: "mga:acme-general" } })
    assert.deepStrictEqual(AdapterRules.check(mga), [])
  })

  it.effect("accept every fictional carrier", () =>
    Effect.gen(function* () {
      const adapters = yield* CarrierAdapters
      assert.isNotEmpty(adapters)
      for (const adapter of adapters) {
        assert.deepStrictEqual(AdapterRules.check(adapter), [], adapter.carrier.id)
      }
    }).pipe(Effect.provide(sandboxCarriers), Effect.provide(webCryptography))
  )

  for (const id of [
    "",
    "acme",
    "12345",
    "naic:1234",
    "naic:123456",
    "naic:acme",
    "NAIC:12345",
    "sbx_acme",
    "mga:",
    "a b:c"
  ]) {
    it(`refuse the id ${JSON.stringify(id)}`, () => {
      assert.deepStrictEqual(pathsOf(withOther({ carrier: { ...acme.carrier, id } })), ["carrier.id"])
    })
  }

  const wrong: ReadonlyArray<readonly [string, CarrierAdapter, ReadonlyArray<string>]> = [
    ["a missing name", withOther({ carrier: { ...acme.carrier, name: "" } }), ["carrier.name"]],
    ["a name with hidden characters", withOther({ carrier: { ...acme.carrier, name: "A\u202eB" } }), ["carrier.name"]],
    ["a carrier without environments", withOther({ environments: [] }), ["environments"]],
    ["an unknown environment", withOther({ environments: ["live", "test"] }), ["environments.1"]],
    ["a carrier without lines", withOther({ lines: {} }), ["lines"]],
    ["an unknown line", withOther({ lines: { boats: acme.lines.renters } }), ["lines.boats"]],
    ["a line without terms", withOther({ lines: { renters: undefined } }), ["lines.renters"]],
    ["a line without states", withTerms({ states: [] }), ["lines.renters.states"]],
    ["a state that does not exist", withTerms({ states: ["NY", "ZZ"] }), ["lines.renters.states.1"]],
    ["an unknown fact in needs", withTerms({ needs: ["applicant.e_mail"] }), ["lines.renters.needs.0"]],
    ["another line's fact in wants", withTerms({ wants: ["vehicles.*.vin"] }), ["lines.renters.wants.0"]],
    ["a whole group of facts in wants", withTerms({ wants: ["applicant"] }), ["lines.renters.wants.0"]],
    ["a rate limit of zero", withTerms({ rate_per_minute: 0 }), ["lines.renters.rate_per_minute"]],
    ["a negative limit on concurrent calls", withTerms({ max_concurrent: -1 }), ["lines.renters.max_concurrent"]],
    [
      "an attempt timeout above the maximum",
      withTerms({ attempt_timeout_ms: 180_000 }),
      ["lines.renters.attempt_timeout_ms"]
    ],
    ["a typical time of half a millisecond", withTerms({ typical_ms: 0.5 }), ["lines.renters.typical_ms"]],
    [
      "hedge_after_ms for a carrier that is not idempotent",
      withTerms({ hedge_after_ms: 1_000 }),
      ["lines.renters.hedge_after_ms"]
    ],
    ["an unknown mode", withTerms({ mode: "mail" }), ["lines.renters.mode"]],
    ["the poll mode without a poll function", withTerms({ mode: "poll" }), ["poll"]],
    ["the callback mode without a callback function", withTerms({ mode: "callback" }), ["callback"]],
    [
      "a maintenance window with invalid times",
      withTerms({ maintenance: [{ from: "tonight", until: "2026-12-25T00:00:00Z" }] }),
      ["lines.renters.maintenance.0.from"]
    ],
    [
      "a maintenance window that ends before it begins",
      withTerms({
        maintenance: [{ from: "2026-12-25T02:00:00Z", until: "2026-12-24T23:00:00-02:00" }]
      }),
      ["lines.renters.maintenance.0.until"]
    ],
    ["a URL as a host", withOther({ handoff_hosts: ["https://acme.example/"] }), ["handoff_hosts.0"]],
    ["a host name with capitals", withOther({ handoff_hosts: ["Acme.example"] }), ["handoff_hosts.0"]],
    [
      "handoff links without a host",
      withOther({ handoff: () => Effect.succeed(null), handoff_hosts: [] }),
      ["handoff_hosts"]
    ],
    ["a secret of an unknown kind", withOther({ connection: { api_key: "password" } }), ["connection.api_key"]],
    ["a connection field with spaces", withOther({ connection: { "api key": "secret" } }), ["connection"]],
    [
      "a connection test without a connection",
      withOther({ testConnection: () => Effect.succeed({ ok: true }) }),
      ["connection"]
    ],
    ["a missing ask function", withOther({ ask: undefined }), ["ask"]],
    ["a poll that is not a function", withOther({ poll: "https://acme.example" }), ["poll"]]
  ]
  for (const [what, adapter, paths] of wrong) {
    it(`refuse ${what}`, () => {
      assert.deepStrictEqual(pathsOf(adapter), paths)
    })
  }
})

const errorOf = (define: () => unknown): InvalidCarrier => {
  const error = Result.getOrThrow(Result.flip(Result.try({ try: define, catch: (thrown) => thrown })))
  return error instanceof InvalidCarrier ? error : assert.fail(String(error))
}
const mistakesOf = (define: () => unknown) => errorOf(define).mistakes

describe("an invalid carrier definition", () => {
  const define = () =>
    defineCarrier({
      id: "acme",
      name: "Acme Mutual",
      // As a JavaScript program writes it: in TypeScript, two of these would not compile.
      lines: JSON.parse('{ "renters": { "states": ["NY", "ZZ"], "needs": ["e_mail"], "max_concurrent": 0 } }'),
      handoff_hosts: ["https://acme.example"],
      http: { base_url: "http://api.acme.example" },
      ask
    })

  it("is rejected at run time, even if JavaScript code bypasses the types", () => {
    for (const [text, paths] of [
      ["{}", ["id", "name", "lines", "ask"]],
      [
        '{ "id": 5, "name": "A", "lines": { "renters": null }, "ask": "x", "http": null, "connection": 3 }',
        ["id", "lines.renters.states", "connection", "ask", "http.base_url"]
      ]
    ] as const) {
      assert.sameMembers(
        mistakesOf(() => defineCarrier(JSON.parse(text))).map(({ path }) => path),
        [...paths]
      )
    }
  })

  it("causes one error that lists every mistake by its path", () => {
    const error = errorOf(define)
    assert.sameMembers(
      error.mistakes.map(({ path }) => path),
      [
        "id",
        "lines.renters.states.1",
        "lines.renters.needs.0",
        "lines.renters.max_concurrent",
        "handoff_hosts.0",
        "http.base_url"
      ]
    )
    for (const { path, message } of error.mistakes) assert.include(error.message, `- ${path}: ${message}`)
    assert.notInclude(error.message, "ZZ")
  })
})
