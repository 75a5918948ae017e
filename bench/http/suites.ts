import type { ListeningAddress } from "../peers/Peer.ts"
import * as starts from "../starts.ts"
import type { Peer, Suite } from "./suite.ts"

const quotewire: Peer = { name: "Quotewire", script: "peers/quotewire.ts" }
const otherPeers: ReadonlyArray<Peer> = [
  { name: "Fastify 5", script: "peers/fastify.ts" },
  { name: "Express 5", script: "peers/express.ts" },
  { name: "raw node:http", script: "peers/raw.ts" }
]

/** Reads one quote. */
export const read: Suite = {
  name: "read",
  title: "GET /v1/quotes/{id}",
  peers: [quotewire, ...otherPeers],
  base: "Fastify 5",
  anew: false,
  load: (address) => ({ method: "GET", path: `/v1/quotes/${address.quote_id}`, body: null, status: 200 })
}

const mounted = (framework: string): Peer => ({
  name: `Quotewire in ${framework}`,
  script: "peers/mounted.ts",
  args: [framework]
})

/** Reads one quote from a service that is embedded in another program. */
export const handlers: Suite = {
  ...read,
  name: "handlers",
  title: "GET /v1/quotes/{id} inside another program",
  peers: [quotewire, mounted("Express"), mounted("Fastify")],
  base: quotewire.name
}

/** Reads one quote through Web requests. The base is Hono, which returns stored JSON. */
export const webHandler: Suite = {
  ...read,
  name: "web_handler",
  title: "GET /v1/quotes/{id} through Web requests on Node",
  peers: [mounted("Hono"), { name: "Hono, stored JSON", script: "peers/hono.ts" }],
  base: "Hono, stored JSON"
}

// The request waits in a queue for five minutes, so that only its start is measured and not the work that follows.
const body = JSON.stringify({ ...starts.household("{unique}"), scenario: "waits_in_queue" })

/** Starts quote requests, each with its own key. */
export const start: Suite = {
  name: "start",
  title: `POST /v1/quote-requests (${body.length} bytes)`,
  peers: [quotewire, { ...quotewire, name: "Quotewire, runner in the same process", args: ["--work"] }, ...otherPeers],
  base: "Fastify 5",
  anew: true,
  load: () => ({ method: "POST", path: "/v1/quote-requests", body, status: 202 })
}

/** The `_meta` of every message. In the MCP revision without a handshake, each message describes its client. */
const _meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {}
}

const message = (method: string, params: object) =>
  JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } })

const messageHeaders = (method: string) => ({
  accept: "application/json, text/event-stream",
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": method
})

const toolsCall = message("tools/call", { name: "get_quote", arguments: { id: "{place}" } })

/** The official MCP server behind its official adapter for `node:http`. */
const official = { script: "peers/mcp.ts" } as const

const manyQuotes: Peer = { ...quotewire, args: ["--many-quotes"] }
const placesOf = ({ quote_id, quote_ids = [quote_id] }: ListeningAddress) => ({ places: quote_ids })

/** Reads many quotes, as an agent does. An agent rarely reads the same quote again. */
export const mcp: Suite = {
  name: "mcp",
  title: "tools/call get_quote (MCP 2026-07-28) beside the same operation over REST",
  peers: [
    { ...manyQuotes, name: "Quotewire, tools/call" },
    {
      ...manyQuotes,
      name: "Quotewire, REST",
      load: (address) => ({ ...read.load(address), path: "/v1/quotes/{place}", ...placesOf(address) })
    },
    { ...official, name: "@modelcontextprotocol/server 2.4, a quote from a map", args: ["--reads"] },
    { ...official, name: "@modelcontextprotocol/server 2.4, a constant" },
    { ...official, name: "@modelcontextprotocol/server 2.4, a constant, without its adapter", args: ["--bare"] }
  ],
  base: "Quotewire, REST",
  anew: false,
  load: (address) => ({
    method: "POST",
    path: "/v1/mcp",
    headers: { ...messageHeaders("tools/call"), "mcp-name": "get_quote" },
    ...placesOf(address),
    body: toolsCall,
    status: 200
  })
}

/** Like `mcp`, but with an access token instead of a key. */
export const mcpToken: Suite = {
  ...mcp,
  name: "mcp_token",
  title: "tools/call get_quote (MCP 2026-07-28) with an access token beside a key",
  peers: [
    { ...manyQuotes, name: "Quotewire, with a key" },
    { ...quotewire, name: "Quotewire, with a token", args: ["--many-quotes", "--token"] }
  ],
  base: "Quotewire, with a key"
}

/** Lists the tools, as every agent does when it starts. */
export const mcpList: Suite = {
  name: "mcp_list",
  title: "tools/list (MCP 2026-07-28)",
  peers: [
    quotewire,
    { ...official, name: "@modelcontextprotocol/server 2.4, the same tools" },
    { ...official, name: "@modelcontextprotocol/server 2.4, the same tools, without its adapter", args: ["--bare"] }
  ],
  base: "@modelcontextprotocol/server 2.4, the same tools",
  anew: false,
  load: () => ({
    method: "POST",
    path: "/v1/mcp",
    headers: messageHeaders("tools/list"),
    body: message("tools/list", {}),
    status: 200
  })
}

/** Enough connections that concurrent requests fill a host's batches. */
export const manyConnections = 200

/** Starts quote requests on PostgreSQL and in memory, through hosts that also run jobs. */
export const startOnPg = (database: string, connections: number): Suite => ({
  ...start,
  name: connections === manyConnections ? "pg_starts_many" : "pg_starts",
  title: `POST /v1/quote-requests (${body.length} bytes) on PostgreSQL, ${connections} connections`,
  peers: [
    { ...quotewire, name: "Quotewire, in memory", args: ["--work"] },
    { ...quotewire, name: "Quotewire, on PostgreSQL", args: ["--work", "--database", database] }
  ],
  base: "Quotewire, in memory",
  anew: false
})
