import { assert, describe, it } from "@effect/vitest"
import { FinishedCall, operations } from "@quotewire/core"
import { MessageRoute } from "@quotewire/http"
import { Deferred, Effect, Layer, Result } from "effect"
import { start, type TestHost } from "./support/host.ts"

/** An endpoint that responds with what it received. */
const echo: MessageRoute.MessageEndpoint = {
  paths: ["/v1/messages", "/v1/messages/"],
  request_headers: ["Echo-Topic"],
  answer_headers: ["Echo-Count"],
  only_post: '"only POST"',
  answer: ({ body, caller, headers, transport }) =>
    Effect.succeed({
      status: Result.isSuccess(body) ? 200 : 400,
      headers: { "echo-count": "1" },
      text: Result.isSuccess(body) && body.success === "hush" ? null : textOf({ body, caller, headers, transport })
    })
}

const textOf = ({
  body,
  caller,
  headers,
  transport
}: Pick<MessageRoute.Posted, "body" | "caller" | "headers" | "transport">) =>
  JSON.stringify({
    said: Result.isSuccess(body) ? body.success : body.failure._tag,
    kind: caller.kind,
    headers,
    route: transport.route,
    user_agent: transport.user_agent
  })

const path = "/v1/messages"
const pages: MessageRoute.Origins = { allowed: ["https://a.example"], loopback: false }

/**
 * An endpoint that responds with events: one immediately, and no end until the caller disconnects or `end` is called.
 */
const telling = (hungUp: Deferred.Deferred<void>): MessageRoute.MessageEndpoint => ({
  ...echo,
  answer: ({ body }) =>
    Effect.succeed({
      status: 200,
      headers: { "echo-count": "2" },
      text: null,
      events: (send) =>
        Effect.sync(() => send('{"first":true}')).pipe(
          Effect.andThen(
            Result.isSuccess(body) && body.success === "end" ? Effect.sync(() => send('{"last":true}')) : Effect.never
          ),
          Effect.onInterrupt(() => Deferred.succeed(hungUp, undefined))
        )
    })
})

const serve = (origins = pages) => start({ operations, routes: MessageRoute.make(echo, origins) })

describe("a message endpoint", () => {
  it.live("receives a request's JSON, caller and headers", () =>
    Effect.gen(function* () {
      const { send } = yield* serve()
      const headers = { "echo-topic": "ducks", "user-agent": "curl/8", "x-other": "x" }
      for (const at of [path, `${path}/`, `${path}?x=1`]) {
        const answer = yield* send("POST", at, { json: { a: 1 }, headers })
        assert.strictEqual(answer.status, 200)
        assert.strictEqual(answer.headers.get("content-type"), "application/json")
        assert.strictEqual(answer.headers.get("cache-control"), "no-store")
        assert.strictEqual(answer.headers.get("echo-count"), "1")
        assert.strictEqual(answer.headers.get("service-version"), "2026-09-26")
        assert.match(answer.headers.get("request-id") ?? "", /^req_/)
        assert.deepStrictEqual(JSON.parse(answer.text), {
          ...{ said: { a: 1 }, kind: "server", headers: { "echo-topic": "ducks" } },
          ...{ route: path, user_agent: "curl/8" }
        })
      }
      assert.deepStrictEqual(JSON.parse((yield* send("POST", path, { json: 1 })).text).headers, { "echo-topic": null })
    })
  )

  it.live("can respond without a body", () =>
    Effect.gen(function* () {
      const { send } = yield* serve()
      const answer = yield* send("POST", path, { json: "hush" })
      assert.deepStrictEqual([answer.status, answer.text, answer.headers.get("content-type")], [200, "", null])
    })
  )

  it.live("can stream events, and is interrupted when the caller disconnects", () =>
    Effect.gen(function* () {
      const hungUp = yield* Deferred.make<void>()
      const { keys, send, url } = yield* start({ operations, routes: MessageRoute.make(telling(hungUp), pages) })
      const answer = yield* send("POST", path, { json: "end" })
      assert.strictEqual(answer.headers.get("content-type"), "text/event-stream")
      assert.strictEqual(answer.headers.get("echo-count"), "2")
      assert.match(answer.headers.get("request-id") ?? "", /^req_/)
      assert.strictEqual(answer.text, 'event: message\ndata: {"first":true}\n\nevent: message\ndata: {"last":true}\n\n')
      assert.isFalse(yield* Deferred.isDone(hungUp))
      const signal = new AbortController()
      yield* Effect.promise(async () => {
        const headers = { authorization: `Bearer ${keys.server}`, "content-type": "application/json" }
        const endless = await fetch(`${url}${path}`, {
          method: "POST",
          headers,
          body: '"go on"',
          signal: signal.signal
        })
        await endless.body?.getReader().read()
        signal.abort()
      })
      yield* Deferred.await(hungUp)
    })
  )

  it.live("decides how to answer a body that is compressed or not UTF-8 JSON", () =>
    Effect.gen(function* () {
      const { send } = yield* serve()
      const json = { "content-type": "application/json" }
      for (const sent of [
        { body: "{", headers: json },
        { headers: json },
        { body: new Uint8Array([0x22, 0xff, 0x22]), headers: json },
        { body: "{}", headers: { "content-type": "text/plain" } },
        { body: "{}", headers: { ...json, "content-encoding": "gzip" } }
      ]) {
        const answer = yield* send("POST", path, sent)
        assert.deepStrictEqual([answer.status, JSON.parse(answer.text).said], [400, "invalid_json"])
      }
    })
  )

  it.live("is not called for an invalid or missing key, or for an oversized body", () =>
    Effect.gen(function* () {
      const { keys, send } = yield* serve()
      const wrong = ["x", `${keys.server}, y`]
      for (const key of [...wrong, null]) {
        const answer = yield* send("POST", path, { key, json: 1 })
        assert.deepStrictEqual([answer.status, JSON.parse(answer.text).error.code], [401, "authentication_failed"])
        assert.strictEqual(answer.headers.get("www-authenticate"), "Bearer")
      }
      const large = yield* send("POST", path, { json: "x".repeat(256 * 1024) })
      assert.deepStrictEqual([large.status, JSON.parse(large.text).error.code], [413, "request_too_large"])
      assert.strictEqual((yield* send("POST", path, { json: "x".repeat(256 * 1024 - 2) })).status, 200)
      // For a caller without a valid key, the refusal about the key comes first.
      assert.strictEqual((yield* send("POST", path, { key: "x", json: "x".repeat(256 * 1024) })).status, 401)
    })
  )

  it.live("returns 405 for GET, HEAD, DELETE and OPTIONS", () =>
    Effect.gen(function* () {
      const { send } = yield* serve()
      for (const method of ["GET", "HEAD", "DELETE", "OPTIONS"]) {
        const answer = yield* send(method, path)
        const text = method === "HEAD" ? "" : echo.only_post
        assert.deepStrictEqual([answer.status, answer.headers.get("allow"), answer.text], [405, "POST", text])
      }
      assert.strictEqual((yield* send("PUT", path)).status, 404)
    })
  )

  it.live("reports refused requests to the request log, except requests with a wrong key", () =>
    Effect.gen(function* () {
      const calls: Array<FinishedCall.FinishedCall> = []
      const onFinishedCall = Layer.succeed(FinishedCall.OnFinishedCall, (call) => void calls.push(call))
      const { send } = yield* start({ operations, routes: MessageRoute.make(echo, pages) }, onFinishedCall)
      yield* send("POST", path, { json: 1 })
      yield* send("GET", `${path}/`)
      yield* send("POST", path, { json: 1, headers: { origin: "https://evil.example" } })
      yield* send("POST", path, { json: "x".repeat(256 * 1024) })
      yield* send("POST", path, { json: 1, key: "x" })
      yield* send("POST", path, { json: 1, key: "x", headers: { origin: "https://evil.example" } })
      assert.deepStrictEqual(
        calls.map(({ error_code, operation, status, transport }) => [
          transport.method,
          transport.route,
          operation,
          status,
          error_code
        ]),
        [
          ["GET", path, null, 405, "not_found"],
          ["POST", path, null, 403, "forbidden"],
          ["POST", path, null, 413, "request_too_large"]
        ]
      )
    })
  )
})

describe("web pages that call a message endpoint", () => {
  const statusOf = (host: Pick<TestHost, "send">, origin: string) =>
    Effect.map(host.send("POST", path, { json: 1, headers: { origin } }), ({ status }) => status)

  it.live("get 403 unless their origin is allowed, even on localhost", () =>
    Effect.gen(function* () {
      const host = yield* serve()
      for (const origin of [
        "https://evil.example",
        "null",
        "http://127.0.0.1.evil.example",
        "https://a.example:1",
        "http://localhost:5173",
        "http://127.0.0.1"
      ]) {
        assert.strictEqual(yield* statusOf(host, origin), 403, origin)
      }
      assert.strictEqual(yield* statusOf(host, "https://a.example"), 200)
    })
  )

  it.live("can call from any localhost port if the host allows localhost", () =>
    Effect.gen(function* () {
      const host = yield* serve({ allowed: [], loopback: true })
      for (const origin of [
        "http://localhost",
        "http://localhost:6274",
        "https://127.0.0.1:8443",
        "http://[::1]:3000"
      ]) {
        assert.strictEqual(yield* statusOf(host, origin), 200, origin)
      }
      for (const origin of ["http://localhost.evil.example", "http://localhost:1@evil.example", "file://localhost"]) {
        assert.strictEqual(yield* statusOf(host, origin), 403, origin)
      }
    })
  )

  it.live("pass a preflight and can read the responses if their origin is allowed", () =>
    Effect.gen(function* () {
      const { send } = yield* serve()
      const origin = "https://a.example"
      const preflight = { "access-control-request-method": "POST" }
      const asked = yield* send("OPTIONS", path, { key: null, headers: { ...preflight, origin } })
      assert.strictEqual(asked.status, 204)
      assert.strictEqual(asked.headers.get("access-control-allow-origin"), origin)
      assert.strictEqual(asked.headers.get("access-control-allow-methods"), "POST")
      assert.include(asked.headers.get("access-control-allow-headers") ?? "", "Authorization")
      assert.include(asked.headers.get("access-control-allow-headers") ?? "", "Echo-Topic")
      const { headers } = yield* send("POST", path, { json: 1, headers: { origin } })
      assert.deepStrictEqual([headers.get("access-control-allow-origin"), headers.get("vary")], [origin, "Origin"])
      assert.include(headers.get("access-control-expose-headers") ?? "", "Echo-Count")
      const strange = yield* send("OPTIONS", path, { headers: { ...preflight, origin: "https://b.example" } })
      assert.deepStrictEqual([strange.status, strange.headers.get("access-control-allow-origin")], [403, null])
      const program = yield* send("POST", path, { json: 1 })
      assert.isNull(program.headers.get("access-control-allow-origin"))
    })
  )
})
