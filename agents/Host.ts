import { randomUUID } from "node:crypto"
import { Effect, Schema } from "effect"
import { AgentHosts, agentHosts } from "../e2e/agents/host.ts"

/** A host on the loopback address, with a sandbox in memory that admits callers without a key. */
export interface Host {
  readonly base_url: string
  /** Moves the sandbox's clock. */
  readonly advance: (seconds: number) => Promise<void>
  /** The tools listed for callers without a key, by name. */
  readonly tools: ReadonlyMap<string, { readonly inputSchema: unknown }>
  /** The same list for programs that show forms. */
  readonly tools_with_forms: ReadonlyMap<string, { readonly inputSchema: unknown }>
}

const decodeList = Schema.decodeUnknownSync(
  Schema.Struct({
    result: Schema.Struct({
      tools: Schema.Array(Schema.Struct({ name: Schema.String, inputSchema: Schema.Unknown }))
    })
  })
)

/** Starts a host, which stops with the scope. */
export const start = Effect.gen(function* () {
  const { base_urls, keys } = yield* AgentHosts
  const [base_url] = base_urls
  const post = (path: string, body: object, headers: Record<string, string>) =>
    fetch(`${base_url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body)
    })
  const list = (params: object, headers: Record<string, string>) =>
    Effect.promise(async () => {
      const response = await post("/v1/mcp", { jsonrpc: "2.0", id: 1, method: "tools/list", params }, headers)
      const { result } = decodeList(await response.json())
      return new Map(result.tools.map((tool) => [tool.name, tool]))
    })
  const tools = yield* list({}, {})
  const tools_with_forms = yield* list(
    {
      _meta: {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { name: "agents", version: "1" },
        "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } }
      }
    },
    { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" }
  )
  const advance = async (seconds: number) => {
    const { server } = keys
    await post("/v1/sandbox/time", { seconds }, { authorization: `Bearer ${server}`, "idempotency-key": randomUUID() })
  }
  return { base_url, advance, tools, tools_with_forms } satisfies Host
})

export const layer = agentHosts()
