import { createServer, type IncomingMessage } from "node:http"
import * as Peer from "./Peer.ts"
import * as schemas from "./schemas.ts"

/** Bare `node:http`, the baseline for all frameworks. */
Peer.run((shared) => {
  const quotes = new Map([[shared.quote.id, shared.quote]])
  const requests = new Map<string, unknown>()
  const isStart = schemas.compile(shared.start_schema)

  const bodyOf = async (request: IncomingMessage): Promise<unknown> => {
    const chunks: Array<Buffer> = []
    for await (const chunk of request) chunks.push(chunk)
    return JSON.parse(Buffer.concat(chunks).toString())
  }

  const answerTo = async (request: IncomingMessage): Promise<readonly [number, unknown]> => {
    if (request.headers.authorization !== Peer.authorization) return [401, { code: "authentication_failed" }]
    if (request.method === "POST") {
      const body = await bodyOf(request)
      if (!isStart(body)) return [400, { code: "invalid_input" }]
      const id = Peer.newId("qreq")
      requests.set(id, body)
      return [202, { ...shared.started, id }]
    }
    const quote = quotes.get((request.url ?? "").slice("/v1/quotes/".length))
    return quote === undefined ? [404, { code: "not_found" }] : [200, quote]
  }

  const server = createServer(async (request, response) => {
    const [status, answer] = await answerTo(request)
    const text = JSON.stringify(answer)
    response.writeHead(status, {
      "request-id": Peer.newId("req"),
      "content-type": "application/json",
      "content-length": Buffer.byteLength(text),
      ...Peer.headers
    })
    response.end(text)
  })
  return Peer.listening(server, shared)
})
