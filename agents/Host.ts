import { randomUUID } from "node:crypto"
import { Effect } from "effect"
import { AgentHosts, agentHosts } from "../e2e/agents/host.ts"

/** A host on the loopback address, with a sandbox in memory that admits callers without a key. */
export interface Host {
  readonly base_url: string
  /** Moves the sandbox's clock. */
  readonly advance: (seconds: number) => Promise<void>
  /** The tools that are listed for callers without a key, by name. */
  readonly tools: ReadonlyMap<string, { readonly inputSchema: unknown }>
}

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
  const listed = yield* Effect.promise(async () => {
    const response = await post("/v1/mcp", { jsonrpc: "2.0", id: 1, method: "tools/list" }, {})
    const { result }: { result: { tools: ReadonlyArray<{ name: string; inputSchema: unknown }> } } =
      await response.json()
    return result.tools
  })
  const advance = async (seconds: number) => {
    const { server } = keys
    await post("/v1/sandbox/time", { seconds }, { authorization: `Bearer ${server}`, "idempotency-key": randomUUID() })
  }
  return { base_url, advance, tools: new Map(listed.map((tool) => [tool.name, tool])) } satisfies Host
})

export const layer = agentHosts()
