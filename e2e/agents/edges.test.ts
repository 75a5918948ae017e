import { assert, layer } from "@effect/vitest"
import { ExampleApplications } from "@quotewire/core/testing"
import { Effect } from "effect"
import { AgentHosts, agentHosts } from "./host.ts"

const toolsCall = (id: number, name: string, args: object) =>
  JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } })

const post = (baseUrl: string, body: string, init: RequestInit = {}) =>
  Effect.promise(async () => {
    const response = await fetch(`${baseUrl}/v1/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
      ...init
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === "" ? null : JSON.parse(text) }
  })

layer(agentHosts(), { excludeTestServices: true })("MCP over HTTP", (it) => {
  it.effect("the MCP endpoint accepts a 256 KiB body, and refuses a larger body with 413", () =>
    Effect.gen(function* () {
      const { base_urls } = yield* AgentHosts
      const bare = toolsCall(1, "get_quote", { id: "" }).length
      const long = (bytes: number) => toolsCall(1, "get_quote", { id: "x".repeat(bytes - bare) })
      const refused = yield* post(base_urls[0], long(256 * 1024 + 1))
      assert.deepStrictEqual([refused.status, refused.body.error.code], [413, "request_too_large"])
      assert.match(refused.headers.get("request-id") ?? "", /^req_/)
      const taken = yield* post(base_urls[0], long(256 * 1024))
      assert.deepStrictEqual([taken.status, taken.body.result.isError], [200, true])
    })
  )

  it.effect("the MCP endpoint returns 401 for a wrong key, 405 for a wrong method, and 403 for a wrong origin", () =>
    Effect.gen(function* () {
      const [base_url] = (yield* AgentHosts).base_urls
      const body = toolsCall(1, "get_capabilities", { line: "pet" })
      const headers = { "content-type": "application/json" }
      const wrong = yield* post(base_url, body, {
        headers: { ...headers, authorization: "Bearer sandbox_server_no" }
      })
      assert.deepStrictEqual([wrong.status, wrong.body.error.code], [401, "authentication_failed"])
      assert.strictEqual(wrong.headers.get("www-authenticate"), "Bearer")
      const foreign = yield* post(base_url, body, { headers: { ...headers, origin: "https://evil.example" } })
      assert.deepStrictEqual([foreign.status, foreign.body.error.code], [403, "forbidden"])
      for (const method of ["GET", "DELETE"]) {
        const response = yield* Effect.promise(() => fetch(`${base_url}/v1/mcp`, { method }))
        assert.deepStrictEqual([response.status, response.headers.get("allow")], [405, "POST"])
      }
    })
  )

  it.effect("the MCP endpoint allows only localhost pages in a preflight", () =>
    Effect.gen(function* () {
      const [base_url] = (yield* AgentHosts).base_urls
      const asked = (origin: string) =>
        Effect.promise(() =>
          fetch(`${base_url}/v1/mcp`, {
            method: "OPTIONS",
            headers: { origin, "access-control-request-method": "POST" }
          })
        )
      const page = yield* asked("http://localhost:6274")
      assert.strictEqual(page.status, 204)
      assert.strictEqual(page.headers.get("access-control-allow-origin"), "http://localhost:6274")
      assert.strictEqual((yield* asked("https://evil.example")).status, 403)
    })
  )

  it.effect("the MCP endpoint answers a thousand concurrent calls, even if some callers disconnect", () =>
    Effect.gen(function* () {
      const { base_urls, keys } = yield* AgentHosts
      const headers = { "content-type": "application/json", authorization: `Bearer ${keys.server}` }
      const start = { line: "renters", request_key: "waits", consent_receipt_id: "receipt-0001" }
      const started = yield* post(
        base_urls[0],
        toolsCall(0, "start_quote_request", {
          ...start,
          scenario: "waits_in_queue",
          application: ExampleApplications.smallest.renters
        }),
        { headers }
      )
      const { id, version } = started.body.result.structuredContent
      // Every hundredth caller waits for a change and disconnects at the end. All other calls get a response.
      const hangUp = new AbortController()
      const answers = yield* Effect.forEach(
        Array.from({ length: 1_000 }, (_, number) => number),
        (number) =>
          number % 100 === 0
            ? Effect.promise(() =>
                fetch(`${base_urls[0]}/v1/mcp`, {
                  method: "POST",
                  headers,
                  body: toolsCall(number, "get_quote_request", { id, since_version: version }),
                  signal: hangUp.signal
                }).catch(() => null)
              )
            : Effect.tap(post(base_urls[0], toolsCall(number, "get_quote", { id: "qt_x" }), { headers }), () =>
                Effect.sync(() => {
                  if (number === 999) hangUp.abort()
                })
              ),
        { concurrency: "unbounded" }
      )
      for (const [number, answer] of answers.entries()) {
        if (number % 100 === 0) {
          assert.isNull(answer)
          continue
        }
        if (answer === null || answer instanceof Response) return assert.fail("No response")
        assert.deepStrictEqual([answer.status, answer.body.id], [200, number])
        assert.strictEqual(answer.body.result.structuredContent.error.code, "not_found")
      }
      // The host still responds.
      const after = yield* post(base_urls[0], toolsCall(1, "get_quote_request", { id, wait_seconds: 0 }), { headers })
      assert.strictEqual(after.body.result.structuredContent.quote_request.id, id)
    })
  )
})
