import { assert, describe, it } from "@effect/vitest"
import { ApiError } from "@quotewire/core"
import { Effect, Schema } from "effect"
import { type Keys, start } from "./support/host.ts"
import * as Wire from "./support/wire.ts"

interface Case {
  readonly what: string
  /** Request line, with or without the version. */
  readonly line: string
  /** With `SERVER` and `WIDGET` as placeholders for keys. */
  readonly headers?: ReadonlyArray<string>
  readonly body?: string | Uint8Array
  /** The Authorization header, with the same placeholders; null omits it. */
  readonly authorization?: string | null
  readonly status: number
  readonly code: ApiError.ErrorCode
  /** The header that the message names. */
  readonly names?: string
  /** Paths of `field_errors`, in order. */
  readonly fields?: ReadonlyArray<string>
}

const json = "Content-Type: application/json"
const key = "Idempotency-Key: k"
const deep = (levels: number) => `{"name":"a","application":{"a":${"[".repeat(levels)}${"]".repeat(levels)}}}`

// biome-ignore format: a table is read by its lines
const cases: ReadonlyArray<Case> = [
  // Addresses
  { what: "an unknown path", line: "GET /v2/things", status: 404, code: "not_found" },
  { what: "the root path", line: "GET /", status: 404, code: "not_found" },
  { what: "a method that the path does not have", line: "PUT /v1/things/th_1", status: 404, code: "not_found" },
  { what: "an unknown method", line: "PURGE /v1/things/th_1", status: 404, code: "not_found" },
  { what: "OPTIONS", line: "OPTIONS /v1/things", status: 404, code: "not_found" },
  { what: "OPTIONS *", line: "OPTIONS *", status: 404, code: "not_found" },
  { what: "broken percent encoding", line: "GET /v1/things/%zz", status: 404, code: "not_found" },
  { what: "percent encoding that is not UTF-8", line: "GET /v1/things/%ff", status: 404, code: "not_found" },
  { what: "a trailing slash", line: "GET /v1/things/th_1/", status: 404, code: "not_found" },
  { what: "an empty parameter", line: "GET /v1/things/", status: 404, code: "not_found" },
  { what: "repeated slashes", line: "GET //v1//things/th_1", status: 404, code: "not_found" },
  { what: "dot segments in a path", line: "GET /v1/../v1/things/th_1", status: 404, code: "not_found" },
  { what: "an ID that cannot exist", line: "GET /v1/things/%2e%2e%2fetc", status: 404, code: "not_found" },
  { what: "the ID __proto__", line: "GET /v1/things/__proto__", status: 404, code: "not_found" },
  { what: "a very long ID", line: `GET /v1/things/${"a".repeat(8_000)}`, status: 404, code: "not_found" },
  { what: "a NUL in an ID", line: "GET /v1/things/th_%00", status: 422, code: "invalid_input", fields: ["id"] },
  { what: "an overlong URL", line: `GET /v1/things/${"a".repeat(20_000)}`, status: 413, code: "request_too_large" },
  { what: "overlong headers", line: "GET /v1/things/th_1", headers: [`X: ${"a".repeat(20_000)}`], status: 413, code: "request_too_large" },
  { what: "data that is not HTTP", line: "HELLO", status: 400, code: "invalid_json" },
  // Query
  { what: "a malformed number", line: "GET /v1/things/th_1?version=abc", status: 422, code: "invalid_input", fields: ["version"] },
  { what: "a number with a fraction", line: "GET /v1/things/th_1?version=1.5", status: 422, code: "invalid_input", fields: ["version"] },
  { what: "a number that is too small", line: "GET /v1/things/th_1?version=0", status: 422, code: "invalid_input", fields: ["version"] },
  { what: "a long number for a missing resource", line: `GET /v1/things/nothing?version=${"9".repeat(40)}`, status: 404, code: "not_found" },
  { what: "a very long number that is too small", line: `GET /v1/things/th_1?version=-${"9".repeat(40)}`, status: 422, code: "invalid_input", fields: ["version"] },
  { what: "an empty value for a number", line: "GET /v1/things/th_1?version=", status: 422, code: "invalid_input", fields: ["version"] },
  { what: "a repeated parameter", line: "GET /v1/things/th_1?version=1&version=2", status: 422, code: "invalid_input", fields: ["version"] },
  { what: "an unknown parameter", line: "GET /v1/things/th_1?sort=x", status: 422, code: "invalid_input", fields: ["sort"] },
  { what: "a parameter named __proto__", line: "GET /v1/things/th_1?__proto__=x", status: 422, code: "invalid_input", fields: ["__proto__"] },
  { what: "a path parameter in the query", line: "GET /v1/things/th_1?id=th_2", status: 422, code: "invalid_input", fields: ["id"] },
  { what: "several wrong parameters", line: "GET /v1/things/th_1?version=x&sort=y", status: 422, code: "invalid_input", fields: ["sort", "version"] },
  { what: "broken encoding in a query", line: "GET /v1/things/th_1?version=%zz", status: 422, code: "invalid_input", fields: ["version"] },
  { what: "a body field in the query", line: "POST /v1/things?name=x", headers: [key], body: "{}", status: 422, code: "invalid_input", fields: ["name"] },
  // Keys
  { what: "no key", line: "GET /v1/things/th_1", authorization: null, status: 401, code: "authentication_failed" },
  { what: "an empty key", line: "GET /v1/things/th_1", authorization: "", status: 401, code: "authentication_failed" },
  { what: "a scheme without a key", line: "GET /v1/things/th_1", authorization: "Bearer", status: 401, code: "authentication_failed" },
  { what: "the Basic scheme", line: "GET /v1/things/th_1", authorization: "Basic dTpw", status: 401, code: "authentication_failed" },
  { what: "two keys in one header", line: "GET /v1/things/th_1", authorization: "Bearer SERVER, Bearer x", status: 401, code: "authentication_failed" },
  { what: "two keys in two headers", line: "GET /v1/things/th_1", headers: ["Authorization: Bearer x"], status: 401, code: "authentication_failed" },
  { what: "the same key in two headers", line: "GET /v1/things/th_1", headers: ["AUTHORIZATION: Bearer SERVER"], status: 401, code: "authentication_failed" },
  { what: "an empty key, then a key", line: "GET /v1/things/th_1", authorization: "", headers: ["Authorization: Bearer SERVER"], status: 401, code: "authentication_failed" },
  { what: "a key without a scheme", line: "GET /v1/things/th_1", authorization: "SERVER", status: 401, code: "authentication_failed" },
  { what: "a key of the wrong kind", line: "PATCH /v1/things/th_1", body: "{}", authorization: "Bearer WIDGET", status: 403, code: "forbidden" },
  // Revisions
  { what: "an unserved revision", line: "GET /v1/things/th_1", headers: ["Service-Version: 2020-01-01"], status: 400, code: "invalid_version", fields: ["Service-Version"] },
  { what: "an empty revision", line: "GET /v1/things/th_1", headers: ["Service-Version:"], status: 400, code: "invalid_version", fields: ["Service-Version"] },
  { what: "a repeated revision", line: "GET /v1/things/th_1", headers: ["Service-Version: 2026-09-26", "Service-Version: 2026-09-26"], status: 400, code: "invalid_version", fields: ["Service-Version"] },
  // Bodies
  { what: "no body where fields are required", line: "POST /v1/things", headers: [key], status: 400, code: "invalid_json" },
  { what: "a body that is not JSON", line: "POST /v1/things", headers: [key, json], body: "{", status: 400, code: "invalid_json" },
  { what: "a body of spaces", line: "POST /v1/things", headers: [key, json], body: "  ", status: 400, code: "invalid_json" },
  { what: "two JSON values", line: "POST /v1/things", headers: [key, json], body: "{}{}", status: 400, code: "invalid_json" },
  { what: "NaN as a number", line: "POST /v1/things", headers: [key, json], body: '{"count":NaN}', status: 400, code: "invalid_json" },
  { what: "a body that is not UTF-8", line: "POST /v1/things", headers: [key, json], body: new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x7d]), status: 400, code: "invalid_json" },
  { what: "a form body", line: "POST /v1/things", headers: [key, "Content-Type: application/x-www-form-urlencoded"], body: "name=a", status: 400, code: "invalid_json", names: "Content-Type" },
  { what: "JSON with a text content type", line: "POST /v1/things", headers: [key, "Content-Type: text/plain"], body: '{"name":"a"}', status: 400, code: "invalid_json", names: "Content-Type" },
  { what: "JSON in another character set", line: "POST /v1/things", headers: [key, "Content-Type: application/json; charset=latin1"], body: '{"name":"a"}', status: 400, code: "invalid_json", names: "Content-Type" },
  { what: "compressed JSON", line: "POST /v1/things", headers: [key, json, "Content-Encoding: gzip"], body: '{"name":"a"}', status: 400, code: "invalid_json", names: "Content-Encoding" },
  { what: "a JSON list as the body", line: "POST /v1/things", headers: [key, json], body: "[]", status: 422, code: "invalid_input", fields: [""] },
  { what: "null as the body", line: "POST /v1/things", headers: [key, json], body: "null", status: 422, code: "invalid_input", fields: [""] },
  { what: "a JSON string as the body", line: "POST /v1/things", headers: [key, json], body: '"name"', status: 422, code: "invalid_input", fields: [""] },
  { what: "an unknown field", line: "POST /v1/things", headers: [key, json], body: '{"name":"a","x":1}', status: 422, code: "invalid_input", fields: ["x"] },
  { what: "a field named __proto__", line: "POST /v1/things", headers: [key, json], body: '{"name":"a","__proto__":{"x":1}}', status: 422, code: "invalid_input", fields: ["__proto__"] },
  { what: "several wrong fields", line: "POST /v1/things", headers: [key, json], body: '{"count":"many","x":1}', status: 422, code: "invalid_input", fields: ["x", "name", "count"] },
  { what: "a number that is too large for a double", line: "POST /v1/things", headers: [key, json], body: '{"name":"a","count":1e999}', status: 422, code: "invalid_input", fields: ["count"] },
  { what: "an unpaired surrogate", line: "POST /v1/things", headers: [key, json], body: '{"name":"\\ud800"}', status: 422, code: "invalid_input", fields: ["name"] },
  { what: "a path parameter in the body", line: "PATCH /v1/things/th_1", headers: [json], body: '{"id":"th_2"}', status: 422, code: "invalid_input", fields: ["id"] },
  { what: "a field for an operation without fields", line: "POST /v1/things/th_1/poke", headers: [json], body: '{"x":1}', status: 422, code: "invalid_input", fields: ["x"] },
  { what: "malformed JSON if no fields are defined", line: "POST /v1/things/th_1/poke", headers: [json], body: "hello", status: 400, code: "invalid_json" },
  { what: "malformed JSON for DELETE", line: "DELETE /v1/things/th_1", headers: [json], body: "{", status: 400, code: "invalid_json" },
  { what: "a field for a method without a body", line: "DELETE /v1/things/th_1", headers: [json], body: '{"x":1}', status: 422, code: "invalid_input", fields: ["x"] },
  { what: "a missing Idempotency-Key", line: "POST /v1/things", headers: [json], body: '{"name":"a"}', status: 422, code: "invalid_input", fields: ["Idempotency-Key"] },
  { what: "deep nesting", line: "POST /v1/things", headers: [key, json], body: deep(1_000), status: 422, code: "invalid_input" },
  { what: "a declared body length that is too large", line: "POST /v1/things", headers: [key, json, "Content-Length: 262145"], status: 413, code: "request_too_large" },
  { what: "two content lengths", line: "POST /v1/things", headers: [key, json, "Content-Length: 2", "Content-Length: 3"], status: 400, code: "invalid_json" },
  { what: "an invalid content length", line: "POST /v1/things", headers: [key, json, "Content-Length: -1"], status: 400, code: "invalid_json" },
  { what: "a content length with chunked encoding", line: "POST /v1/things", headers: [key, json, "Content-Length: 2", "Transfer-Encoding: chunked"], status: 400, code: "invalid_json" }
]

const bytesOf = (it: Case, keys: Keys): Uint8Array => {
  const body = Buffer.from(it.body ?? "")
  const { authorization = "Bearer SERVER" } = it
  const withKeys = (text: string) => text.replace("SERVER", keys.server).replace("WIDGET", keys.widget)
  const head = [
    it.line.includes(" ") ? `${it.line} HTTP/1.1` : it.line,
    "Host: x",
    "Connection: close",
    ...(authorization === null ? [] : [`Authorization: ${withKeys(authorization)}`]),
    ...(it.headers ?? []).map(withKeys),
    ...(it.body === undefined ? [] : [`Content-Length: ${body.length}`]),
    "",
    ""
  ]
  return Buffer.concat([Buffer.from(head.join("\r\n")), body])
}

const isEnvelope = Schema.is(ApiError.ErrorEnvelope)

describe("hostile input", () => {
  it.live.each(cases)("is refused with an error envelope: $what", (it) =>
    Effect.gen(function* () {
      const { keys, port, url } = yield* start()
      const raw = yield* Wire.exchange(port, bytesOf(it, keys))
      const { status, headers, text } = Wire.parse(raw)
      assert.strictEqual(status, it.status, raw)
      const envelope: unknown = JSON.parse(text)
      if (!isEnvelope(envelope)) return assert.fail(`no envelope: ${text}`)
      assert.strictEqual(envelope.error.code, it.code)
      assert.include(envelope.error.message, it.names ?? "")
      assert.strictEqual(envelope.error.doc_url, `${url}/docs/v1/errors/${it.code}`)
      assert.strictEqual(envelope.request_id, headers.get("request-id"))
      assert.strictEqual(headers.get("content-length"), String(Buffer.byteLength(text)))
      assert.strictEqual(headers.get("service-version"), "2026-09-26")
      assert.strictEqual(headers.get("www-authenticate"), it.status === 401 ? "Bearer" : null)
      if (it.fields !== undefined) {
        assert.deepStrictEqual(
          envelope.error.field_errors?.map((error) => error.path),
          it.fields
        )
      }
    })
  )

  it.live("is refused with 422 if it is nested 100,000 levels deep", () =>
    Effect.gen(function* () {
      const { send } = yield* start()
      const answer = yield* send("POST", "/v1/things", {
        headers: { "content-type": "application/json", "idempotency-key": "k" },
        body: deep(100_000)
      })
      assert.strictEqual(answer.status, 422)
    })
  )

  it.live.each([
    { what: "without a Host", head: "GET /v2 HTTP/1.1\r\nConnection: close" },
    {
      what: "with an unknown expectation",
      head: "GET /v2 HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\nConnection: close"
    },
    { what: "with the CONNECT method", head: "CONNECT /v1/things HTTP/1.1\r\nHost: a" }
  ])("is refused with an error envelope: a request $what", ({ head }) =>
    Effect.gen(function* () {
      const { port } = yield* start()
      const { headers, status, text } = Wire.parse(yield* Wire.exchange(port, `${head}\r\n\r\n`))
      assert.strictEqual(status, 404)
      const envelope: unknown = JSON.parse(text)
      if (!isEnvelope(envelope)) return assert.fail(`no envelope: ${text}`)
      assert.strictEqual(envelope.request_id, headers.get("request-id"))
    })
  )

  it.live("gets only one response if the body never arrives", () =>
    Effect.gen(function* () {
      const { port } = yield* start({ request_timeout_ms: 50 })
      const raw = yield* Wire.exchange(port, "GET /v2 HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n")
      assert.lengthOf(raw.match(/HTTP\/1\.1/g) ?? [], 1, raw)
    })
  )
})
