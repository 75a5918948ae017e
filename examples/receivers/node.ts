import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { Inbox, Listening } from "./inbox.ts"

/** Reads the raw bytes of a body; null if the body is larger than any webhook. */
const rawBody = async (request: IncomingMessage): Promise<Buffer | null> => {
  const chunks: Array<Buffer> = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes > 64 * 1024) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const receive = async (inbox: Inbox, request: IncomingMessage, response: ServerResponse): Promise<void> => {
  if (request.method !== "POST" || request.url !== "/webhooks") return void response.writeHead(404).end()
  const body = await rawBody(request)
  if (body === null) return void response.writeHead(413, { connection: "close" }).end()
  const { status, work } = await inbox.accept(request.headers, body)
  response.writeHead(status).end()
  work()
}

/** Receives webhooks with plain `node:http`. */
export const serveNode = (inbox: Inbox, port: number) =>
  new Promise<Listening>((resolve, reject) => {
    const server = createServer((request, response) => {
      // The sender disconnected, or this program failed. In both cases the delivery is retried.
      receive(inbox, request, response).catch(() => response.destroy())
    })
    server.once("error", reject)
    server.listen(port, "127.0.0.1", () => {
      const address = server.address()
      if (address === null || typeof address === "string") return reject(new Error("The server has no port"))
      resolve({
        url: `http://127.0.0.1:${address.port}/webhooks`,
        close: () => new Promise((closed) => server.close(() => closed()).closeAllConnections())
      })
    })
  })
