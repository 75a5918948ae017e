import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { connect, kinds } from "./clients.ts"
import { AgentHosts, agentHosts } from "./host.ts"

const quoting = ["get_capabilities", "start_quote_request", "get_quote_request", "get_quote"]

layer(agentHosts({ hosts: 2 }), { excludeTestServices: true })(
  "official MCP clients that alternate between two hosts",
  (it) => {
    it.effect.each(kinds)("a client lists the tools and makes twenty calls, ten on each host: %s", (kind) =>
      Effect.gen(function* () {
        const { base_urls, keys } = yield* AgentHosts
        const client = yield* connect(kind, base_urls, keys.server)
        assert.includeMembers([...(yield* client.tools)], [...quoting, "list_quote_requests", "send_test_event"])
        const before = [...client.requests]
        const answers = yield* Effect.forEach(Array.from({ length: 20 }), (_, index) =>
          client.call("get_capabilities", { line: index % 2 === 0 ? "renters" : "pet" })
        )
        assert.deepStrictEqual(
          answers.map(({ isError, structured }) => [isError, structured.capabilities.line].join(" ")),
          Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? "false renters" : "false pet"))
        )
        assert.deepStrictEqual(
          client.requests.map((count, index) => count - (before[index] ?? 0)),
          [10, 10]
        )
      })
    )

    it.effect.each(kinds)("a client accepts a refusal as a result that matches the tool's output schema: %s", (kind) =>
      Effect.gen(function* () {
        const { base_urls, keys } = yield* AgentHosts
        const client = yield* connect(kind, base_urls, keys.server)
        yield* client.tools
        const refused = yield* client.call("get_quote", { id: "qt_00000000000000000000000000" })
        assert.isTrue(refused.isError)
        assert.strictEqual(refused.structured.error.code, "not_found")
        assert.match(refused.texts[0] ?? "", /^Refused \(not_found\)/)
        assert.deepStrictEqual(JSON.parse(refused.texts[1] ?? ""), refused.structured)
      })
    )

    it.effect.each(kinds)("a client without a key lists only the tools for keyless callers: %s", (kind) =>
      Effect.gen(function* () {
        const { base_urls } = yield* AgentHosts
        const client = yield* connect(kind, base_urls, null)
        const tools = yield* client.tools
        assert.includeMembers([...tools], quoting)
        assert.notInclude(tools, "list_quote_requests")
        assert.notInclude(tools, "send_test_event")
      })
    )
  }
)
