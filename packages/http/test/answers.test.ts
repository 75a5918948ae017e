import { assert, describe, it } from "@effect/vitest"
import { OpenApi } from "@quotewire/http"
import { Effect } from "effect"
import * as Conforms from "./support/conforms.ts"
import { start } from "./support/host.ts"
import { operations } from "./support/operations.ts"
import * as Wire from "./support/wire.ts"

const conforms = Conforms.make(OpenApi.document(operations, "https://api.quotewire.dev"))

describe("HTTP responses", () => {
  it.live("contain exactly the operation's bytes, and declare their Content-Length", () =>
    Effect.gen(function* () {
      const { keys, port, send } = yield* start()
      const answer = yield* send("GET", "/v1/things/th_1")
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(answer.headers.get("content-length"), String(Buffer.byteLength(answer.text)))
      assert.include(answer.text, "東京 🦆")
      assert.match(answer.headers.get("request-id") ?? "", /^req_[0-9a-z]{26}$/)
      assert.strictEqual(answer.headers.get("service-version"), "2026-09-26")
      assert.strictEqual(answer.headers.get("cache-control"), "no-store")
      assert.deepStrictEqual(conforms({ method: "GET", path: "/v1/things/th_1", ...answer }), [])
      // Not chunked, and nothing after the body.
      const raw = yield* Wire.exchange(
        port,
        `GET /v1/things/th_1 HTTP/1.1\r\nHost: x\r\nAuthorization: bearer ${keys.server}\r\nConnection: close\r\n\r\n`
      )
      assert.notInclude(raw.toLowerCase(), "transfer-encoding")
      assert.strictEqual(Wire.parse(raw).text, answer.text)
    })
  )

  it.live("have a Location header for a created resource, and Idempotent-Replayed for a repeated call", () =>
    Effect.gen(function* () {
      const { notes, send } = yield* start()
      const make = send("POST", "/v1/things", { json: { name: "a" }, headers: { "idempotency-key": "k1" } })
      const first = yield* make
      const second = yield* make
      assert.strictEqual(first.status, 201)
      assert.strictEqual(first.headers.get("location"), "/v1/things/th_new")
      assert.isNull(first.headers.get("idempotent-replayed"))
      assert.strictEqual(second.headers.get("idempotent-replayed"), "true")
      assert.strictEqual(second.text, first.text)
      assert.deepStrictEqual(notes.all(), ["made a"])
      assert.deepStrictEqual(conforms({ method: "POST", path: "/v1/things", ...first }), [])
    })
  )

  it.live("have the same Content-Length for HEAD as for GET, but no body", () =>
    Effect.gen(function* () {
      const { send } = yield* start()
      const get = yield* send("GET", "/v1/things/th_1")
      const head = yield* send("HEAD", "/v1/things/th_1")
      assert.strictEqual(head.status, 200)
      assert.strictEqual(head.text, "")
      assert.strictEqual(head.headers.get("content-length"), get.headers.get("content-length"))
    })
  )

  it.live("are in request order on one connection, even if the requests arrive together", () =>
    Effect.gen(function* () {
      const { keys, port } = yield* start()
      const body = JSON.stringify({ name: "b" })
      const head = `Host: x\r\nAuthorization: Bearer ${keys.server}\r\n`
      const raw = yield* Wire.exchange(
        port,
        [
          `GET /v1/things/th_1 HTTP/1.1\r\n${head}\r\n`,
          `POST /v1/things HTTP/1.1\r\n${head}Idempotency-Key: p\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
          `GET /v1/none HTTP/1.1\r\n${head}\r\n`,
          `GET /v1/things/th_2 HTTP/1.1\r\n${head}Connection: close\r\n\r\n`
        ].join("")
      )
      assert.deepStrictEqual(
        Array.from(raw.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => status),
        ["200", "201", "404", "200"]
      )
    })
  )

  it.live("reveal no internal details when a call fails", () =>
    Effect.gen(function* () {
      const { send } = yield* start()
      const answer = yield* send("DELETE", "/v1/things/th_1")
      assert.strictEqual(answer.status, 500)
      assert.notInclude(answer.text, "secret")
      assert.deepStrictEqual(conforms({ method: "DELETE", path: "/v1/things/th_1", ...answer }), [])
    })
  )
})
