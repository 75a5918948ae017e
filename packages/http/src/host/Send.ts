import type { IncomingMessage, ServerResponse } from "node:http"
import type { Answer } from "./Answer.ts"
import * as Body from "./Body.ts"

/**
 * Sends an answer in one write, with its exact length.
 *
 * A body that was not read is thrown away where it is small. Otherwise the connection ends: the answer goes out at
 * once, and what the caller still sends is dropped for a moment, since a connection that is reset would take the answer
 * with it.
 */
export const send = (
  request: IncomingMessage,
  response: ServerResponse,
  answer: Answer,
  extra: Readonly<Record<string, string>>
): void => {
  const headers: Record<string, string | number> = { ...extra, ...answer.headers }
  const length = lengthOf(answer.body)
  if (answer.status !== 204) headers["content-length"] = length
  if (!isUnreadAndLarge(request)) {
    response.writeHead(answer.status, headers)
    // As many bytes as characters: plain ASCII, for which Node needs a third of the room and no encoding.
    if (length === answer.body?.length) response.end(answer.body, "latin1")
    else response.end(answer.body)
    return
  }
  headers.connection = "close"
  response.writeHead(answer.status, headers)
  if (answer.body === null) response.flushHeaders()
  else response.write(answer.body)
  linger(request, () => response.end())
}

const lengthOf = (body: Answer["body"]): number =>
  body === null ? 0 : typeof body === "string" ? Buffer.byteLength(body) : body.length

/** Up to here reading the rest costs less than a new connection. */
const small_bytes = 64 * 1024

const isUnreadAndLarge = (request: IncomingMessage): boolean => {
  if (request.complete || !Body.isAnnounced(request)) return false
  return request.headers["transfer-encoding"] !== undefined || Body.announcedBytes(request) > small_bytes
}

/** How long what is still sent is dropped before the connection ends. */
const linger_ms = 1_000

const linger = (request: IncomingMessage, end: () => void): void => {
  const timer = setTimeout(end, linger_ms)
  request.once("close", () => {
    clearTimeout(timer)
    end()
  })
  request.resume()
}
