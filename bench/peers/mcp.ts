import { createServer } from "node:http"
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server"
import { Lines, operations, type Quotewire, type Storage } from "@quotewire/core"
import { Tools } from "@quotewire/mcp"
import * as Peer from "./Peer.ts"

/** The tools that our host lists for this key. */
const tools = Tools.of<Quotewire.Services | Storage.Storage>(operations).flatMap(
  (tool) =>
    tool.list({ elicits: false, shows_views: false, environment: "sandbox", kind: "server", lines: Lines.standard }) ??
    []
)

/** As long as what our host says about a quote, so that both send as much. */
const summary = "A quote. ".repeat(125)

/** The official server without state: a constant as the answer of one tool, no arguments to check, plain JSON. */
Peer.run((shared) => {
  const structuredContent = { summary, ...shared.quote }
  const result = {
    content: [
      { type: "text" as const, text: summary },
      { type: "text" as const, text: JSON.stringify(structuredContent) }
    ],
    structuredContent,
    isError: false
  }
  const handler = createMcpHandler(
    () => {
      const server = new McpServer({ name: "constant", version: "1" })
      server.registerTool("get_quote", { description: "A constant." }, () => result)
      server.server.setRequestHandler("tools/list", () => ({ tools, ttlMs: 300_000, cacheScope: "private" as const }))
      return server
    },
    { responseMode: "json" }
  )
  const server = createServer(async (request, response) => {
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
  })
  return Peer.listening(server, shared)
})
