import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Agents, layer, modern, modernHeaders, type Sent, toolsCall } from "./support/agents.ts"

const rpc = (method: string, params?: unknown) => ({
  jsonrpc: "2.0",
  id: 1,
  method,
  ...(params !== undefined && { params })
})
const notification = (method: string) => ({ jsonrpc: "2.0", method, params: {} })

const renters = toolsCall("get_capabilities", { line: "renters" })

const send = (sent: Sent) => Effect.flatMap(Agents, (agents) => agents.send(sent))

describe("the /v1/mcp endpoint", () => {
  it.effect("serves a plain tools/call without a handshake or protocol headers", () =>
    Effect.gen(function* () {
      const { body, headers, status } = yield* send({ as: "server", message: renters })
      assert.strictEqual(status, 200)
      assert.strictEqual(headers["content-type"], "application/json")
      assert.strictEqual(headers["service-version"], "2026-09-26")
      assert.deepStrictEqual(Object.keys(body), ["jsonrpc", "id", "result"])
      assert.deepStrictEqual(Object.keys(body.result), ["content", "structuredContent", "isError"])
      assert.isFalse(body.result.isError)
      assert.deepStrictEqual(JSON.parse(body.result.content[1].text), body.result.structuredContent)
      assert.strictEqual(body.result.structuredContent.capabilities.line, "renters")
    }).pipe(Effect.provide(layer()))
  )

  it.effect("ignores the Service-Version header, whatever its value", () =>
    Effect.gen(function* () {
      const { body } = yield* send({ as: "server", headers: { "service-version": "1999-01-01" }, message: renters })
      assert.isFalse(body.result.isError)
    }).pipe(Effect.provide(layer()))
  )

  it.effect("rejects a wrong key with 401, and treats a caller without Authorization as keyless", () =>
    Effect.gen(function* () {
      for (const authorization of ["Bearer sandbox_server_x", "Bearer", "Basic abc", ""]) {
        for (const message of [renters, rpc("tools/list"), rpc("initialize", {}), rpc("unknown"), notification("n")]) {
          const { body, status } = yield* send({ as: { authorization }, message })
          assert.deepStrictEqual([status, body.error], [401, "authentication_failed"], authorization)
        }
      }
      assert.strictEqual((yield* send({ message: renters })).status, 200)
    }).pipe(Effect.provide(layer()))
  )

  it.effect("returns 401 to keyless callers if the host has no keyless workspace", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* send({ message: renters })).status, 401)
      assert.strictEqual((yield* send({ message: rpc("tools/list") })).status, 401)
      assert.strictEqual((yield* send({ as: "platform", message: rpc("tools/list") })).status, 200)
    }).pipe(Effect.provide(layer({ keyless: false })))
  )

  it.effect("returns 405 for GET and DELETE", () =>
    Effect.gen(function* () {
      for (const method of ["GET", "DELETE"]) {
        const { headers, status } = yield* send({ method, message: renters })
        assert.deepStrictEqual([status, headers.allow], [405, "POST"])
      }
    }).pipe(Effect.provide(layer()))
  )

  it.effect("accepts a notification with a 202 without a body", () =>
    Effect.gen(function* () {
      for (const method of ["notifications/initialized", "notifications/cancelled", "tools/call", "whatever"]) {
        const { body, status } = yield* send({ as: "server", message: notification(method) })
        assert.deepStrictEqual([status, body], [202, null])
      }
    }).pipe(Effect.provide(layer()))
  )

  it.effect("accepts an unsolicited response with a 202 without a body", () =>
    Effect.gen(function* () {
      for (const answer of [{ result: {} }, { result: "yes" }, { error: { code: -1, message: "No" } }]) {
        for (const id of [1, "ask-1", `req_${"0".repeat(26)}~9999999999999~a.b`, null]) {
          const { body, status } = yield* send({ as: "server", message: { jsonrpc: "2.0", id, ...answer } })
          assert.deepStrictEqual([status, body], [202, null])
        }
      }
    }).pipe(Effect.provide(layer()))
  )

  it.effect("returns 400 and -32700 for a body that is compressed or not UTF-8 JSON", () =>
    Effect.gen(function* () {
      const wrong: ReadonlyArray<readonly [Sent, string]> = [
        [{ body: "" }, "not valid JSON"],
        [{ body: "{" }, "not valid JSON"],
        [{ body: "{'jsonrpc': 1}" }, "not valid JSON"],
        [{ body: new Uint8Array([0x22, 0xff, 0x22]) }, "not valid JSON"],
        [{ message: renters, headers: { "content-type": "text/plain" } }, "Content-Type"],
        [{ message: renters, headers: { "content-type": "application/json; charset=latin1" } }, "Content-Type"],
        [{ message: renters, headers: { "content-encoding": "gzip" } }, "Content-Encoding"]
      ]
      for (const [sent, says] of wrong) {
        const { body, status } = yield* send(sent)
        assert.deepStrictEqual([status, body.id, body.error.code], [400, null, -32700], JSON.stringify(sent))
        assert.include(body.error.message, says)
      }
    }).pipe(Effect.provide(layer()))
  )

  it.effect("returns 400 and -32600 for JSON that is not a request", () =>
    Effect.gen(function* () {
      const wrong: ReadonlyArray<readonly [unknown, unknown]> = [
        [[], null],
        ["tools/call", null],
        [null, null],
        [7, null],
        [{}, null],
        [{ ...renters, jsonrpc: "1.0" }, 1],
        [{ ...renters, jsonrpc: undefined }, 1],
        [{ ...renters, id: null }, null],
        [{ ...renters, id: 1.5 }, null],
        [{ ...renters, id: {} }, null],
        [{ ...renters, id: true }, null],
        [{ ...renters, method: 3 }, 1],
        [{ ...renters, method: undefined }, 1],
        [{ ...renters, params: [] }, 1],
        [{ ...renters, params: null }, 1],
        [{ jsonrpc: "1.0", id: 1, result: {} }, null],
        [{ jsonrpc: "2.0", id: {}, result: {} }, null],
        [{ jsonrpc: "2.0", result: {} }, null]
      ]
      for (const [message, id] of wrong) {
        const { body, status } = yield* send({ message })
        assert.deepStrictEqual([status, body.id, body.error.code], [400, id, -32600], JSON.stringify(message))
      }
    }).pipe(Effect.provide(layer()))
  )

  it.effect("accepts IDs that are strings or whole numbers, and returns them unchanged", () =>
    Effect.gen(function* () {
      for (const id of ["", "a", "1", 0, -1, 9_007_199_254_740_991]) {
        const { body } = yield* send({ message: { ...renters, id } })
        assert.strictEqual(body.id, id)
      }
    }).pipe(Effect.provide(layer()))
  )

  it.effect("returns -32602 for an unknown tool or for arguments that are not an object", () =>
    Effect.gen(function* () {
      const calls = [
        { name: "buy_quote", arguments: {} },
        { name: "toString" },
        { name: "constructor" },
        { name: 7 },
        { arguments: {} },
        ...["x", 1, [], null, true].map((args) => ({ name: "get_quote", arguments: args }))
      ]
      for (const params of calls) {
        const { body, status } = yield* send({ as: "server", message: rpc("tools/call", params) })
        assert.deepStrictEqual([status, body.error.code], [200, -32602], JSON.stringify(params))
      }
    }).pipe(Effect.provide(layer()))
  )

  it.effect("returns HTTP 200 and -32601 for an unknown method of an older revision", () =>
    Effect.gen(function* () {
      for (const method of ["resources/list", "server/discover", "toString", ""]) {
        const { body, status } = yield* send({ message: rpc(method) })
        assert.deepStrictEqual([status, body.error.code], [200, -32601], method)
      }
    }).pipe(Effect.provide(layer()))
  )

  it.effect("accepts the protocol's headers from web pages with an allowed origin", () =>
    Effect.gen(function* () {
      const origin = "https://a.example"
      const asked = yield* send({ method: "OPTIONS", headers: { origin } })
      assert.strictEqual(asked.status, 204)
      for (const name of ["Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version", "Mcp-Session-Id"]) {
        assert.include(asked.headers["access-control-allow-headers"], name)
      }
      const { headers, status } = yield* send({ headers: { origin }, message: renters })
      assert.strictEqual(status, 200)
      assert.include(headers["access-control-expose-headers"], "Mcp-Session-Id")
      assert.strictEqual((yield* send({ headers: { origin: "https://b.example" }, message: renters })).status, 403)
    }).pipe(Effect.provide(layer({ origins: { allowed: ["https://a.example"], loopback: false } })))
  )
})

describe("a client with a handshake", () => {
  const initialize = (protocolVersion: unknown) =>
    rpc("initialize", { protocolVersion, capabilities: {}, clientInfo: { name: "a-client", version: "9" } })

  it.effect("gets the revision that it requests, or else the newest revision with a handshake", () =>
    Effect.gen(function* () {
      const agreed = (asked: unknown) =>
        Effect.map(send({ message: initialize(asked) }), ({ body }) => body.result.protocolVersion)
      for (const asked of ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]) {
        assert.strictEqual(yield* agreed(asked), asked)
      }
      for (const asked of ["2024-10-07", "2026-07-28", "", 5, undefined]) {
        assert.strictEqual(yield* agreed(asked), "2025-11-25", String(asked))
      }
    }).pipe(Effect.provide(layer()))
  )

  it.effect("gets the server's name, capabilities and instructions", () =>
    Effect.gen(function* () {
      const { body } = yield* send({ message: initialize("2025-11-25") })
      assert.deepStrictEqual(body.result.capabilities, { tools: {} })
      assert.deepStrictEqual(body.result.serverInfo, {
        name: "quotewire",
        title: "Quotewire insurance quotes",
        version: "1.2.3"
      })
      assert.include(body.result.instructions, "not coverage")
      assert.deepStrictEqual((yield* send({ message: rpc("ping") })).body.result, {})
    }).pipe(Effect.provide(layer()))
  )

  it.effect("may send any session ID and any supported revision, but no unsupported revision", () =>
    Effect.gen(function* () {
      const session = (yield* send({ message: initialize("2025-11-25") })).headers["mcp-session-id"] ?? ""
      assert.match(session, /^[\x21-\x7e]+$/)
      for (const headers of [
        { "mcp-session-id": session },
        { "mcp-session-id": "made.up" },
        { "mcp-session-id": "" }
      ]) {
        assert.strictEqual((yield* send({ headers, message: rpc("tools/list") })).status, 200)
      }
      for (const version of ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]) {
        const named = yield* send({ headers: { "mcp-protocol-version": version }, message: rpc("tools/list") })
        assert.strictEqual(named.status, 200, version)
      }
      const { body, status } = yield* send({
        headers: { "mcp-protocol-version": "2024-10-07" },
        message: rpc("tools/list")
      })
      assert.deepStrictEqual([status, body.error.code], [400, -32022])
    }).pipe(Effect.provide(layer()))
  )
})

describe("a client without a handshake", () => {
  const discover = modern("server/discover")

  it.effect("discovers the supported revisions", () =>
    Effect.gen(function* () {
      const { body, status } = yield* send({ message: discover, headers: modernHeaders("server/discover") })
      assert.strictEqual(status, 200)
      assert.deepStrictEqual(body.result.supportedVersions, [
        "2026-07-28",
        "2025-11-25",
        "2025-06-18",
        "2025-03-26",
        "2024-11-05"
      ])
      assert.strictEqual(body.result.resultType, "complete")
      assert.strictEqual(body.result.cacheScope, "private")
      assert.isAbove(body.result.ttlMs, 0)
      assert.strictEqual(body.result._meta["io.modelcontextprotocol/serverInfo"].name, "quotewire")
    }).pipe(Effect.provide(layer()))
  )

  it.effect("lists tools, and gets complete results from calls", () =>
    Effect.gen(function* () {
      const { body } = yield* send({ message: modern("tools/list"), headers: modernHeaders("tools/list") })
      assert.strictEqual(body.result.resultType, "complete")
      assert.strictEqual(body.result.cacheScope, "private")
      const call = modern("tools/call", { name: "get_capabilities", arguments: { line: "pet" } })
      for (const name of ["get_capabilities", "=?base64?Z2V0X2NhcGFiaWxpdGllcw==?="]) {
        const called = yield* send({ message: call, headers: modernHeaders("tools/call", name) })
        assert.strictEqual(called.body.result.resultType, "complete")
        assert.strictEqual(called.body.result.structuredContent.capabilities.line, "pet")
      }
    }).pipe(Effect.provide(layer()))
  )

  it.effect("is refused with 400 and -32020 if a header is missing or contradicts the message", () =>
    Effect.gen(function* () {
      const call = modern("tools/call", { name: "get_capabilities", arguments: { line: "pet" } })
      const right = modernHeaders("tools/call", "get_capabilities")
      const wrong = [
        {},
        { ...right, "mcp-protocol-version": "2025-11-25" },
        { ...right, "mcp-protocol-version": "2026-07-28, 2026-07-28" },
        { ...right, "mcp-method": "tools/list" },
        { ...right, "mcp-method": "TOOLS/CALL" },
        { ...right, "mcp-name": "get_quote" },
        { ...right, "mcp-name": "=?base64?!!?=" },
        { ...right, "mcp-name": "=?base64?/w==?=" },
        modernHeaders("tools/call")
      ]
      for (const headers of wrong) {
        const { body, status } = yield* send({ message: call, headers })
        assert.deepStrictEqual([status, body.id, body.error.code], [400, "m-1", -32020], JSON.stringify(headers))
      }
      const note = { ...modern("notifications/initialized"), id: undefined }
      const mismatched = yield* send({ message: note, headers: modernHeaders("tools/call") })
      assert.strictEqual(mismatched.body.error.code, -32020)
      assert.strictEqual((yield* send({ message: note })).status, 202)
    }).pipe(Effect.provide(layer()))
  )

  it.effect("is refused with 400 and -32602 if _meta lacks the revision or the capabilities", () =>
    Effect.gen(function* () {
      const { _meta } = discover.params
      const headers = modernHeaders("server/discover")
      const { "io.modelcontextprotocol/protocolVersion": version, ...withoutVersion } = _meta
      const { "io.modelcontextprotocol/clientCapabilities": _, ...withoutCapabilities } = _meta
      for (const params of [
        undefined,
        {},
        { _meta: 7 },
        { _meta: withoutVersion },
        { _meta: withoutCapabilities },
        { _meta: { ..._meta, "io.modelcontextprotocol/protocolVersion": 7 } },
        { _meta: { ..._meta, "io.modelcontextprotocol/clientCapabilities": [] } }
      ]) {
        const { body, status } = yield* send({ message: { ...discover, params }, headers })
        assert.deepStrictEqual([status, body.id, body.error.code], [400, "m-1", -32602], JSON.stringify(params))
      }
      const { "io.modelcontextprotocol/clientInfo": __, ...nameless } = _meta
      const { status } = yield* send({ message: { ...discover, params: { _meta: nameless } }, headers })
      assert.strictEqual(status, 200)
      assert.strictEqual(version, "2026-07-28")
    }).pipe(Effect.provide(layer()))
  )

  it.effect("gets the list of supported revisions if it requests an unsupported revision", () =>
    Effect.gen(function* () {
      for (const requested of ["2027-01-01", "v999.0.0"]) {
        const params = { _meta: { ...discover.params._meta, "io.modelcontextprotocol/protocolVersion": requested } }
        const headers = { ...modernHeaders("server/discover"), "mcp-protocol-version": requested }
        const { body, status } = yield* send({ message: { ...discover, params }, headers })
        assert.deepStrictEqual([status, body.error.code], [400, -32022])
        assert.deepStrictEqual(body.error.data, {
          supported: ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
          requested
        })
      }
    }).pipe(Effect.provide(layer()))
  )

  it.effect("gets 404 and -32601 for methods that its revision lacks", () =>
    Effect.gen(function* () {
      for (const method of ["initialize", "ping", "resources/list", "unknown/method"]) {
        const { body, status } = yield* send({ message: modern(method), headers: modernHeaders(method) })
        assert.deepStrictEqual([status, body.error.code], [404, -32601], method)
      }
    }).pipe(Effect.provide(layer()))
  )
})
