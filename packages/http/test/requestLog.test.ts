import { assert, describe, it } from "@effect/vitest"
import { operations, RequestLog } from "@quotewire/core"
import { Effect, Layer } from "effect"
import { eventually } from "../../../test/support/eventually.ts"
import { start, type TestAnswer, type TestHost } from "./support/host.ts"
import * as Wire from "./support/wire.ts"

/** The log entry of a request, once written. */
const entryOf = (send: TestHost["send"], { headers }: Pick<TestAnswer, "headers">) =>
  eventually(
    send("GET", `/v1/requests/${headers.get("request-id")}`).pipe(
      Effect.filterOrFail(({ status }) => status === 200),
      Effect.map((answer) => JSON.parse(answer.text))
    )
  )

/** The log entries of these requests: method, route, operation, status and code. */
const logged = (send: TestHost["send"], answers: ReadonlyArray<TestAnswer>) =>
  Effect.forEach(answers, (answer) =>
    Effect.map(entryOf(send, answer), (entry) =>
      [entry.method, entry.route, entry.operation, entry.status, entry.error_code].join(" ")
    )
  )

describe("the request log over HTTP", () => {
  it.live("lists every request with a valid key, even if the path is unknown or the body is too large", () =>
    Effect.gen(function* () {
      const { keys, send } = yield* start({ operations })
      const answers = [
        yield* send("GET", "/v1/capabilities?line=pet&name=Ada"),
        yield* send("GET", "/v1/capabilities?line=pet"),
        yield* send("HEAD", "/v1/sandbox"),
        yield* send("GET", "/v1/quotes/qt_Ada"),
        yield* send("GET", "/v1/event-subscriptions/sub_x/deliveries/evt_x"),
        yield* send("PUT", "/v1/quotes/Ada"),
        yield* send("GET", "/v1/people/Ada?name=Lovelace"),
        yield* send("POST", "/v1/quote-requests", { body: "{", headers: { "content-type": "application/json" } }),
        yield* send("POST", "/v1/quote-requests", { body: "x".repeat(300_000) }),
        yield* send("GET", "/v1/sandbox", { headers: { "service-version": "x" } }),
        yield* send("GET", "/v1/events", { key: keys.widget })
      ]
      assert.deepStrictEqual(yield* logged(send, answers), [
        "GET /v1/capabilities get_capabilities 422 invalid_input",
        "GET /v1/capabilities get_capabilities 200 ",
        "HEAD /v1/sandbox get_sandbox 200 ",
        "GET /v1/quotes/{id} get_quote 404 not_found",
        "GET /v1/event-subscriptions/{id}/deliveries/{id} get_event_delivery 404 not_found",
        "PUT /v1/quotes/{id}  404 not_found",
        "GET *  404 not_found",
        "POST /v1/quote-requests start_quote_request 400 invalid_json",
        "POST /v1/quote-requests start_quote_request 413 request_too_large",
        "GET /v1/sandbox get_sandbox 400 invalid_version",
        "GET /v1/events list_events 403 forbidden"
      ])
      const log = yield* send("GET", "/v1/requests?limit=100")
      for (const secret of ["Ada", "Lovelace", keys.server, keys.widget]) assert.notInclude(log.text, secret)
    })
  )

  it.live("shows each caller's user agent, and omits requests without a valid key", () =>
    Effect.gen(function* () {
      const { send } = yield* start({ operations })
      const strangers = [
        yield* send("GET", "/v1/none", { key: "sandbox_server_wrong" }),
        yield* send("GET", "/v1/none", { key: null }),
        yield* send("GET", "/v1/sandbox", { key: null })
      ]
      const answer = yield* send("GET", "/v1/sandbox", { headers: { "user-agent": "shop/2 ".repeat(40) } })
      yield* entryOf(send, answer)
      const { requests } = JSON.parse((yield* send("GET", "/v1/requests?operation=get_sandbox")).text)
      assert.deepStrictEqual(
        requests.map(({ agent }: { agent: object }) => agent),
        [{ client_name: null, client_version: null, user_agent: "shop/2 ".repeat(40).slice(0, 200) }]
      )
      for (const stranger of strangers) {
        const id = stranger.headers.get("request-id")
        assert.strictEqual((yield* send("GET", `/v1/requests/${id}`)).status, 404)
      }
    })
  )

  it.live("records no user agent if the caller sends no User-Agent header", () =>
    Effect.gen(function* () {
      const { keys, port, send } = yield* start({ operations })
      const head = `Host: x\r\nAuthorization: Bearer ${keys.server}\r\nConnection: close\r\n\r\n`
      const raw = yield* Wire.exchange(port, `GET /v1/sandbox HTTP/1.1\r\n${head}`)
      yield* entryOf(send, { headers: new Headers({ "request-id": /request-id: (\w+)/i.exec(raw)?.[1] ?? "" }) })
      const { requests } = JSON.parse((yield* send("GET", "/v1/requests?operation=get_sandbox")).text)
      assert.isNull(requests[0].agent.user_agent)
    })
  )

  it.live("has no routes and no documentation if it is off", () =>
    Effect.gen(function* () {
      const { send } = yield* start({ operations }, Layer.succeed(RequestLog.RequestLogEnabled, false))
      for (const path of ["/v1/requests", "/v1/requests/req_x"]) {
        assert.strictEqual((yield* send("GET", path)).status, 404)
        assert.strictEqual((yield* send("GET", path, { key: null })).status, 404)
      }
      assert.notInclude((yield* send("GET", "/openapi.json")).text, "list_api_requests")
    })
  )
})
