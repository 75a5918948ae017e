import { assert, describe, it } from "@effect/vitest"
import { Allowance } from "@quotewire/core"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Agents, layer, modern, modernHeaders, type Sent, toolsCall } from "./support/agents.ts"
import { startOf } from "./support/journey.ts"

const send = (sent: Sent) => Effect.flatMap(Agents, (agents) => agents.send({ as: "server", ...sent }))

/** The request log, oldest entry first. */
const logged = Effect.gen(function* () {
  yield* TestClock.adjust(1_000)
  const agents = yield* Agents
  const { structuredContent } = yield* agents.call("list_api_requests", { limit: 100 }, "server")
  return structuredContent.requests.toReversed()
})

const hello = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "old-client", version: "4" } }
}

describe("the request log", () => {
  it.effect("records a tool call with the tool's name, the HTTP status and the error code", () =>
    Effect.gen(function* () {
      yield* send({ message: toolsCall("get_capabilities", { line: "pet" }), headers: { "user-agent": "curl/8" } })
      yield* send({ message: toolsCall("get_quote", { id: "qt_x" }) })
      yield* send({ as: "platform", message: toolsCall("list_quote_requests") })
      const entries = yield* logged
      assert.deepStrictEqual(
        entries.map(({ error_code, method, operation, route, status }: Record<string, unknown>) =>
          [method, route, operation, status, error_code].join(" ")
        ),
        [
          "POST /v1/mcp get_capabilities 200 ",
          "POST /v1/mcp get_quote 200 not_found",
          "POST /v1/mcp list_quote_requests 200 forbidden"
        ]
      )
      assert.strictEqual(entries[0].agent.user_agent, "curl/8")
    }).pipe(Effect.provide(layer()))
  )

  it.effect("finds the calls about a quote request by the quote request's ID", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2026, 10, 20, 12))
      const { call } = yield* Agents
      const { id } = (yield* call("start_quote_request", startOf("quotes_ready"), "server")).structuredContent
      yield* call("get_quote_request", { id, wait_seconds: 0 }, "server")
      yield* call("get_capabilities", { line: "pet" }, "server")
      yield* TestClock.adjust(1_000)
      const { structuredContent } = yield* call("list_api_requests", { quote_request_id: id }, "server")
      assert.deepStrictEqual(
        structuredContent.requests.map(({ operation }: Record<string, unknown>) => operation),
        ["get_quote_request", "start_quote_request"]
      )
      const refused = yield* call("list_api_requests", { quote_id: id }, "server")
      assert.deepStrictEqual(refused.structuredContent.error.field_errors[0].path, "quote_id")
    }).pipe(Effect.provide(layer()))
  )

  it.effect("records a call to an unknown tool once, with or without an event stream", () =>
    Effect.gen(function* () {
      const call = toolsCall("no_such_tool")
      const message = { ...call, params: { ...call.params, _meta: { progressToken: 1 } } }
      for (const accept of ["application/json", "text/event-stream"]) yield* send({ message, headers: { accept } })
      const entries = yield* logged
      assert.deepStrictEqual(
        entries.map(({ route, status }: Record<string, unknown>) => [route, status].join(" ")),
        ["/v1/mcp 200", "/v1/mcp 200"]
      )
    }).pipe(Effect.provide(layer()))
  )

  it.effect("contains the client's own name and version, from a session or from a call's metadata", () =>
    Effect.gen(function* () {
      const { headers } = yield* send({ message: hello })
      const session = headers["mcp-session-id"] ?? ""
      const call = toolsCall("get_capabilities", { line: "pet" })
      yield* send({ message: call, headers: { "mcp-session-id": session } })
      const forged = `${session.split(".")[0]}.${"A".repeat(60)}`
      yield* send({ message: call, headers: { "mcp-session-id": forged } })
      yield* send({
        message: modern("tools/call", call.params),
        headers: modernHeaders("tools/call", "get_capabilities")
      })
      yield* send({ message: call })
      const calls = (yield* logged).filter(({ operation }: { operation: unknown }) => operation !== null)
      assert.deepStrictEqual(
        calls.map(({ agent }: { agent: Record<string, unknown> }) => [agent.client_name, agent.client_version]),
        [
          ["old-client", "4"],
          [null, null],
          ["a-client", "9"],
          [null, null]
        ]
      )
    }).pipe(Effect.provide(layer()))
  )

  it.effect("records an initialize request with the client's name, and a refused GET request", () =>
    Effect.gen(function* () {
      yield* send({ message: hello })
      yield* send({ method: "GET" })
      const [introduction, refused] = yield* logged
      assert.deepInclude(introduction.agent, { client_name: "old-client", client_version: "4" })
      assert.deepStrictEqual([refused.status, refused.error_code], [405, "not_found"])
    }).pipe(Effect.provide(layer()))
  )

  it.effect("records requests that reach no tool, but not requests with an invalid key", () =>
    Effect.gen(function* () {
      yield* send({ message: { jsonrpc: "2.0", id: 1, method: "tools/list" } })
      yield* send({ body: "{" })
      yield* send({ message: toolsCall("no_such_tool") })
      yield* send({ message: hello, headers: { origin: "https://evil.example" } })
      yield* send({ as: { authorization: "Bearer wrong" }, message: hello })
      const entries = yield* logged
      assert.deepStrictEqual(
        entries.map(({ error_code, operation, status }: Record<string, unknown>) => [operation, status, error_code]),
        [
          [null, 200, null],
          [null, 400, "invalid_json"],
          [null, 200, null],
          [null, 403, "forbidden"]
        ]
      )
    }).pipe(Effect.provide(layer()))
  )
})

describe("the failed-authentication limit", () => {
  it.effect("counts each request with an invalid key once", () =>
    Effect.gen(function* () {
      const wrong = { authorization: "Bearer sandbox_server_wrong" }
      const statuses = []
      for (let nth = 0; nth < 61; nth++) {
        const { status } = yield* send({ as: wrong, message: toolsCall("get_capabilities", { line: "pet" }) })
        statuses.push(status)
      }
      assert.deepStrictEqual(statuses, [...Array.from({ length: 60 }, () => 401), 429])
    }).pipe(Effect.provide(layer({ limits: Allowance.standardLimits })))
  )
})
