import { createServer } from "node:http"
import { ApiError, type Embedded } from "@quotewire/core"

const max_body_bytes = 64 * 1_024

/** Receives `POST /carriers/{id}/callbacks` for an embedded service. `quotewire serve` already has this route. */
export const receiveCallbacks = async (quotewire: Embedded) => {
  const server = createServer(async (request, response) => {
    const [, id] = /^\/carriers\/([^/]+)\/callbacks$/.exec(request.url ?? "") ?? []
    const parts: Array<Buffer> = []
    let size = 0
    for await (const part of request) {
      size += part.length
      if (size > max_body_bytes) return response.writeHead(413).end()
      parts.push(part)
    }
    if (id === undefined || request.method !== "POST") return response.writeHead(404).end()
    const callback = { headers: request.headers, body: Buffer.concat(parts) }
    try {
      const isTaken = await quotewire.carrierCallback(decodeURIComponent(id), callback)
      response.writeHead(isTaken ? 204 : 404).end()
    } catch (refusal) {
      // Either the callback arrived before the answer that it belongs to, or storage is unavailable. The carrier will
      // resend the callback.
      const seconds = refusal instanceof ApiError.ApiError ? refusal.retry_after_seconds : null
      response.writeHead(503, { "retry-after": String(seconds ?? 5) }).end()
    }
  })
  await new Promise<void>((listening) => server.listen(0, "localhost", listening))
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("The server has no port.")
  return {
    urlFor: (carrier_id: string) => `http://localhost:${address.port}/carriers/${carrier_id}/callbacks`,
    close: async () => {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    }
  }
}
