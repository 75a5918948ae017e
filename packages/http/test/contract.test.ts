import { assert, describe, it } from "@effect/vitest"
import { ApiError, Event, operations, standardLines } from "@quotewire/core"
import { ExampleApplications } from "@quotewire/core/testing"
import { OpenApi } from "@quotewire/http"
import { Ajv2020 } from "ajv/dist/2020.js"
import addFormats from "ajv-formats"
import { Predicate } from "effect"
import type { Node } from "../src/documents/JsonNode.ts"
import * as JsonNode from "../src/documents/JsonNode.ts"

/*
 * Checks the document of the whole contract against the specification and for consistency.
 */

const baseUrl = "https://quotes.agency.example/insurance"
const document: Node = JSON.parse(JSON.stringify(OpenApi.document(operations, baseUrl)))

const ajv = new Ajv2020({ strict: false, allErrors: true })
addFormats.default(ajv)
ajv.addSchema({ ...document }, "openapi")

/** Every operation and webhook of the document, with its pointer. */
const calls = ["paths", "webhooks"].flatMap((part) =>
  JsonNode.entries(document, document, part).flatMap(([path, item]) =>
    Object.entries(item)
      .filter((entry): entry is [string, Node] => Predicate.isObject(entry[1]))
      .map(([method, call]) => ({ part, path, method, call, name: JsonNode.text(call, "operationId") }))
  )
)

const call = (name: string): Node => calls.find((one) => one.name === name)?.call ?? assert.fail(`no ${name}`)

const escaped = (name: string): string => encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"))

/** The problems of a body's examples. A body without an example is a problem, too. */
const wrongExamples = (pointer: string, body: Node): ReadonlyArray<string> => {
  const json = JsonNode.at(document, JsonNode.at(document, body, "content"), "application/json")
  const examples = JsonNode.entries(document, json, "examples")
  const validate = ajv.getSchema(`openapi#${pointer}/content/application~1json/schema`)
  if (examples.length === 0 || validate === undefined) return [`${pointer} shows no example`]
  return examples.flatMap(([name, { value }]) =>
    validate(value) === true ? [] : [`${pointer} ${name}: ${ajv.errorsText(validate.errors)}`]
  )
}

/** The refusal codes of an operation, from the examples of its responses. */
const codesOf = (name: string): ReadonlyArray<string> =>
  JsonNode.entries(document, call(name), "responses").flatMap(([status, response]) =>
    Number(status) < 400
      ? []
      : JsonNode.entries(
          document,
          JsonNode.at(document, JsonNode.at(document, response, "content"), "application/json"),
          "examples"
        ).map(([code]) => code)
  )

const common = ["authentication_failed", "invalid_input", "rate_limited", "internal_error", "service_unavailable"]
const command = ["invalid_json", "request_too_large"]

/** The refusals that the specification lists for each operation (api.md, Error codes), by code. */
const listed: Readonly<Record<string, ReadonlyArray<string>>> = {
  get_event_delivery: ["invalid_version", "forbidden", "not_found"],
  replay_event_delivery: ["invalid_version", ...command, "forbidden", "not_found", "conflict"],
  get_event_subscription_health: ["invalid_version", "forbidden", "not_found"],
  start_event_recovery: [...command, "forbidden", "not_found", "conflict"],
  list_events: ["invalid_version", "invalid_cursor", "forbidden", "event_cursor_expired"],
  cancel_quote_request: [...command, "forbidden", "not_found", "conflict"],
  get_quote: ["invalid_version", "forbidden", "not_found"],
  list_api_requests: ["invalid_version", "invalid_cursor", "forbidden"],
  get_api_request: ["forbidden", "not_found"],
  get_feedback: ["not_found"],
  select_scenario: [...command, "forbidden", "not_found", "conflict"]
}

const known = new Set<string>(operations.map(({ name }) => name))

describe("the API's OpenAPI document", () => {
  it.each(Object.keys(listed).filter((name) => known.has(name)))(
    "lists exactly the specified refusals of %s",
    (name) => {
      // Every operation reads `Service-Version`, even if its list omits the refusal.
      const wanted = new Set([...common, "invalid_version", ...(listed[name] ?? [])])
      assert.sameMembers([...codesOf(name)], [...wanted])
    }
  )

  it("lists every operation by name, on its route", () => {
    const routes = calls.filter(({ part }) => part === "paths")
    assert.sameMembers(
      routes.map(({ name, method, path }) => `${name} ${method} ${path}`),
      operations.map(({ name, route }) => `${name} ${route.method.toLowerCase()} ${route.path}`)
    )
  })

  it("accepts a line's facts only for that line", () => {
    const isStart = ajv.getSchema("openapi#/components/schemas/StartInput") ?? assert.fail("no start")
    for (const [line, application] of Object.entries(ExampleApplications.smallest)) {
      assert.isTrue(isStart({ line, request_key: "one", application }), `${line}: ${ajv.errorsText(isStart.errors)}`)
      for (const other of standardLines.filter(({ name }) => name !== line))
        assert.isFalse(isStart({ line: other.name, request_key: "one", application }), `${line} as ${other.name}`)
    }
  })

  it("rejects unknown event types in a call, but accepts unknown event types in a response", () => {
    const event = {
      id: "evt_01kafzsk000000000000000000",
      type: "quote.renewed",
      occurred_at: "2026-11-20T12:00:08.000Z",
      environment: "sandbox",
      line: "boat",
      resource: { type: "policy", id: "pol_1", version: 1 }
    }
    const isEvent = ajv.getSchema("openapi#/components/schemas/Event") ?? assert.fail("no event")
    assert.isTrue(isEvent(event), ajv.errorsText(isEvent.errors))
    assert.isFalse(isEvent({ ...event, environment: "staging" }))
    const create = JsonNode.at(document, call("create_event_subscription"), "requestBody")
    const json = JsonNode.at(document, JsonNode.at(document, create, "content"), "application/json")
    const isCreate = ajv.compile({ ...JsonNode.at(document, json, "schema"), components: document.components })
    assert.isTrue(isCreate({ url: "https://hooks.example.com", event_types: ["quote.created"] }))
    assert.isFalse(isCreate({ url: "https://hooks.example.com", event_types: ["quote.renewed"] }))
  })

  it("requires a subscription update to contain at least one field", () => {
    const body = JsonNode.at(document, call("update_event_subscription"), "requestBody")
    const json = JsonNode.at(document, JsonNode.at(document, body, "content"), "application/json")
    assert.strictEqual(body.required, true)
    assert.strictEqual(JsonNode.at(document, json, "schema").minProperties, 1)
  })

  it("has a valid example of every body", () => {
    const wrong = calls.flatMap(({ part, path, method, call }) => {
      const pointer = `/${part}/${escaped(path)}/${method}`
      const answers = Object.entries(JsonNode.at(document, call, "responses")).filter(
        ([, response]) => Predicate.isObject(response) && "content" in response
      )
      return [
        ...("requestBody" in call && !path.startsWith("purchase.")
          ? wrongExamples(`${pointer}/requestBody`, JsonNode.at(document, call, "requestBody"))
          : []),
        ...answers.flatMap(([status, response]) =>
          wrongExamples(`${pointer}/responses/${status}`, Predicate.isObject(response) ? response : {})
        )
      ]
    })
    assert.deepStrictEqual(wrong, [])
    const refusals = JsonNode.entries(document, JsonNode.at(document, document, "components"), "responses")
    assert.deepStrictEqual(
      refusals.flatMap(([name, response]) => wrongExamples(`/components/responses/${name}`, response)),
      []
    )
  })

  it("has only valid examples of parameters", () => {
    const shown = calls.flatMap(({ path, call }) =>
      JsonNode.list(document, call, "parameters")
        .filter((parameter) => "example" in parameter)
        .map((parameter) => ({ path, parameter, schema: JsonNode.at(document, parameter, "schema") }))
    )
    assert.isAbove(shown.length, 10)
    for (const { path, parameter, schema } of shown) {
      assert.isTrue(ajv.validate({ ...schema }, parameter.example), `${path} ${JsonNode.text(parameter, "name")}`)
    }
  })

  it("describes a webhook for every event type, with its headers and responses", () => {
    const webhooks = calls.filter(({ part }) => part === "webhooks")
    assert.deepStrictEqual(
      webhooks.map(({ path }) => path),
      [...Event.types]
    )
    for (const { path, call } of webhooks) {
      assert.deepStrictEqual(
        JsonNode.list(document, call, "parameters").map((parameter) => parameter.name),
        ["id", "timestamp", "signature"]
          .flatMap((name) => `webhook-${name}`)
          .concat("quotewire-id", "quotewire-timestamp", "quotewire-signature")
      )
      const body = JsonNode.at(document, JsonNode.at(document, call, "requestBody"), "content")
      const schema = JsonNode.at(document, JsonNode.at(document, body, "application/json"), "schema")
      const required: unknown = schema.required
      assert.isTrue(Array.isArray(required) && required.includes("schema_version"), path)
      assert.sameMembers(Object.keys(JsonNode.at(document, call, "responses")), ["2XX", "4XX", "5XX"])
    }
  })

  it("requires a Retry-After header on every 429 and 503 response", () => {
    const paths = calls.filter(({ part }) => part === "paths")
    assert.isNotEmpty(paths)
    for (const { name, part, call } of paths) {
      const responses = JsonNode.at(document, call, "responses")
      for (const status of ["429", "503"]) {
        const headers = JsonNode.at(document, JsonNode.at(document, responses, status), "headers")
        assert.isTrue(JsonNode.at(document, headers, "Retry-After").required === true, `${part} ${name} ${status}`)
      }
    }
  })

  it("contains the host's configured addresses and webhook header names", () => {
    const text = JSON.stringify(document)
    assert.deepStrictEqual(document.servers, [{ url: baseUrl }])
    assert.notInclude(text, OpenApi.recorded_at)
    assert.include(text, `${baseUrl}/go/`)
    assert.include(text, `${baseUrl}/docs/v1/errors/${ApiError.codes[0]}`)
    const own = JSON.stringify(
      OpenApi.document(operations, baseUrl, { docs_url: "https://docs.example", webhook_header_prefix: "agency-" })
    )
    assert.include(own, '"agency-signature"')
    assert.include(own, "https://docs.example/v1/errors/")
    assert.notInclude(own, `${baseUrl}/docs`)
  })
})
