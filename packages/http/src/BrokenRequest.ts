import type { Duplex } from "node:stream"
import { ApiError } from "@quotewire/core"
import { Predicate } from "effect"
import * as Answer from "./Answer.ts"

/**
 * Answers what is not HTTP, is too long or never arrives, with the envelope, and ends the connection.
 *
 * The table of errors has no code of its own for these: an address or headers over Node's limit of 16 KiB are
 * `request_too_large`, everything else is `invalid_json`.
 */
export const answer = (error: Error, socket: Duplex, request_id: string, docs_url: string): void => {
  const code = Predicate.hasProperty(error, "code") ? error.code : undefined
  if (code === "ECONNRESET" || !socket.writable) {
    socket.destroy()
    return
  }
  refuse(refusalOf(code), socket, request_id, docs_url)
}

const reasons: Readonly<Record<number, string>> = { 400: "Bad Request", 404: "Not Found", 413: "Payload Too Large" }

/** Writes a refusal on a bare socket, and ends the connection. */
export const refuse = (error: ApiError.ApiError, socket: Duplex, request_id: string, docs_url: string): void => {
  const { status, headers, body } = Answer.refusal(error, request_id, docs_url)
  const text = String(body)
  const lines = Object.entries({ ...headers, "request-id": request_id, connection: "close" })
  socket.end(
    [
      `HTTP/1.1 ${status} ${reasons[status] ?? ""}`,
      ...lines.map(([name, value]) => `${name}: ${value}`),
      `content-length: ${Buffer.byteLength(text)}`,
      "",
      text
    ].join("\r\n")
  )
}

const refusalOf = (code: unknown): ApiError.ApiError => {
  if (code === "HPE_HEADER_OVERFLOW") {
    return ApiError.make("request_too_large", { message: "The address and headers are larger than 16 KiB." })
  }
  return ApiError.make("invalid_json", {
    message:
      code === "ERR_HTTP_REQUEST_TIMEOUT" ? "The request did not arrive in time." : "The request is not valid HTTP."
  })
}
