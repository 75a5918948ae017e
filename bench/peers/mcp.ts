import { createServer, type IncomingMessage, type RequestListener } from "node:http"
import { toNodeHandler } from "@modelcontextprotocol/node"
import { createMcpHandler, fromJsonSchema, type McpHttpHandler, McpServer } from "@modelcontextprotocol/server"
import { Lines, operations, type Quotewire, type Storage } from "@quotewire/core"
import { Tools } from "@quotewire/mcp"
import * as Peer from "./Peer.ts"

/** The tools that Quotewire lists for this key. */
const tools = Tools.of<Quotewire.Services | Storage.Storage>(operations).flatMap(
  (tool) =>
    tool.list({ elicits: false, shows_views: false, environment: "sandbox", kind: "server", lines: Lines.standard }) ??
    []
)

/** Text with the same length as the summary in Quotewire's response, so that both servers send the same amount. */
const summary = "A quote. ".repeat(125)

/** The result of a tool that returns a quote. Like Quotewire's results, it has two text parts and an object. */
const resultOf = (quote: Peer.SharedSettings["quote"]) => {
  const structuredContent = { summary, ...quote }
  return {
    content: [
      { type: "text" as const, text: summary },
      { type: "text" as const, text: JSON.stringify(structuredContent) }
    ],
    structuredContent,
    isError: false
  }
}

/** Whether a request has a method and a URL. Node sets both for every request to a server. */
const hasTarget = (
  request: IncomingMessage
): request is IncomingMessage & { readonly method: string; readonly url: string } =>
  request.method !== undefined && request.url !== undefined

/** Serves the handler with the MCP library's adapter for Node. */
const adapted = (handler: McpHttpHandler): RequestListener => {
  const handle = toNodeHandler(handler)
  return (request, response) => {
    if (hasTarget(request)) void handle(request, response)
  }
}

/** Serves the handler with minimal code. This is cheaper than the library's adapter. */
const bare =
  (handler: McpHttpHandler): RequestListener =>
  async (request, response) => {
    const chunks: Array<Buffer> = []
    for await (const chunk of request) chunks.push(chunk)
    const headers = new Headers()
    for (const [name, value] of Object.entries(request.headers)) if (typeof value === "string") headers.set(name, value)
    const answer = await handler.fetch(new Request("http://127.0.0.1/v1/mcp", { method: "POST", headers }), {
      parsedBody: JSON.parse(Buffer.concat(chunks).toString())
    })
    const body = await answer.text()
    response.writeHead(answer.status, {
      "request-id": Peer.newId("req"),
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      ...Peer.headers
    })
    response.end(body)
  }

const inputSchema = fromJsonSchema<{ id: string }>({
  type: "object",
  properties: { id: { type: "string" } },
  required: ["id"]
})

/** How many quotes the tool reads in turn, about as many as in the Quotewire peer. */
const many = 600

/**
 * The official MCP server, without sessions and with plain JSON responses. By default its tool returns a constant and
 * checks no arguments. With `--reads`, the tool takes a quote's ID and reads the quote from a map. With `--bare`, the
 * server runs without its adapter for Node.
 */
Peer.run(async (shared) => {
  const ids = Array.from({ length: many }, () => Peer.newId("qt"))
  const quotes = new Map(ids.map((id) => [id, { ...shared.quote, id }]))
  const constant = resultOf(shared.quote)
  const reads = process.argv.includes("--reads")
  const handler = createMcpHandler(
    () => {
      const server = new McpServer({ name: "peer", version: "1" })
      if (reads) {
        server.registerTool("get_quote", { description: "Reads a quote.", inputSchema }, ({ id }) =>
          resultOf(quotes.get(id) ?? shared.quote)
        )
      } else server.registerTool("get_quote", { description: "A constant." }, () => constant)
      server.server.setRequestHandler("tools/list", () => ({ tools, ttlMs: 300_000, cacheScope: "private" as const }))
      return server
    },
    { responseMode: "json" }
  )
  const server = createServer(process.argv.includes("--bare") ? bare(handler) : adapted(handler))
  return { ...(await Peer.listening(server, shared)), quote_ids: ids }
})
