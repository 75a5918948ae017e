import { assert, describe, it } from "@effect/vitest"
import { ApiError } from "@quotewire/core"
import { OpenApi } from "@quotewire/http"
import { Ajv2020 } from "ajv/dist/2020.js"
import addFormats from "ajv-formats"
import { Effect, Predicate } from "effect"
import { start } from "./support/host.ts"
import { lint } from "./support/lint.ts"
import { operations } from "./support/operations.ts"

const document = OpenApi.document(operations, "https://api.quotewire.dev")

/** The value at a path of names; undefined if there is none. */
const at = (...names: ReadonlyArray<string>): unknown =>
  names.reduce<unknown>((node, name) => (Predicate.isObject(node) ? node[name] : undefined), document)

describe("the OpenAPI document", () => {
  it("passes the Redocly linter without a warning", async () => {
    const { code, printed } = await lint(document)
    assert.isTrue(code === 0 && !/warning/i.test(printed), printed)
  })

  it.live("is served by the host, with the host's own address", () =>
    Effect.gen(function* () {
      const { send, url } = yield* start()
      const answer = yield* send("GET", "/openapi.json", { key: null })
      assert.strictEqual(answer.headers.get("content-type"), "application/json")
      assert.deepStrictEqual(JSON.parse(answer.text), JSON.parse(JSON.stringify(OpenApi.document(operations, url))))
    })
  )

  it("lists each input field as a path parameter, a query parameter or a body field", () => {
    const get = at("paths", "/v1/things/{id}", "get")
    assert.deepInclude(get, { operationId: "get_thing", tags: ["Things"] })
    assert.deepStrictEqual(at("paths", "/v1/things/{id}", "get", "parameters"), [
      { name: "id", in: "path", required: true, schema: { type: "string" } },
      {
        name: "version",
        in: "query",
        required: false,
        description: "Which version",
        schema: { type: "integer", minimum: 1 }
      },
      { name: "label", in: "query", required: false, schema: { type: "string" } },
      { $ref: "#/components/parameters/Service-Version" },
      { $ref: "#/components/parameters/Read-Handle" }
    ])
    assert.deepStrictEqual(at("paths", "/v1/things/{id}", "get", "security"), [
      { bearer: [] },
      { bearer: [], read_handle: [] }
    ])
    assert.isUndefined(at("paths", "/v1/things/{id}", "get", "requestBody"))
    assert.isUndefined(at("paths", "/v1/things/{id}/poke", "post", "requestBody"))
    assert.deepInclude(at("paths", "/v1/things/{id}", "patch", "requestBody"), { required: false })
    const body = at("paths", "/v1/things", "post", "requestBody", "content", "application/json", "schema")
    assert.deepInclude(body, { required: ["name"], additionalProperties: false })
  })

  it("contains the descriptions from an input's schema", () => {
    const schema = ["requestBody", "content", "application/json", "schema", "properties", "application"]
    assert.deepStrictEqual(at("paths", "/v1/things", "post", ...schema), {
      description: "Free facts",
      type: "object",
      properties: { pets: { type: "array", items: { type: "string" } } }
    })
  })

  it("lists an operation's refusals, each with a valid example", () => {
    const responses = at("paths", "/v1/things", "post", "responses")
    assert.sameMembers(Object.keys(Predicate.isObject(responses) ? responses : {}), [
      "201",
      "400",
      "401",
      "403",
      "409",
      "413",
      "422",
      "429",
      "500",
      "503"
    ])
    assert.deepStrictEqual(at("paths", "/v1/things", "post", "responses", "400"), {
      $ref: "#/components/responses/invalid_json_or_invalid_version"
    })
    const ajv = new Ajv2020({ strict: false })
    addFormats.default(ajv)
    ajv.addSchema({ ...document }, "openapi")
    const codes = new Set<string>()
    const all = at("components", "responses")
    for (const name of Object.keys(Predicate.isObject(all) ? all : {})) {
      const examples = at("components", "responses", name, "content", "application/json", "examples")
      for (const [code, example] of Object.entries(Predicate.isObject(examples) ? examples : {})) {
        codes.add(code)
        const value = Predicate.hasProperty(example, "value") ? example.value : undefined
        assert.isTrue(ajv.validate("openapi#/components/schemas/ErrorEnvelope", value), ajv.errorsText())
      }
    }
    assert.isTrue([...codes].every((code) => ApiError.codes.some((known) => known === code)))
  })
})
