import type { Duplex } from "node:stream"
import { ApiError } from "@quotewire/core"
import { Predicate } from "effect"
import type { Answer } from "../host/Answer.ts"

type Refuse = (error: ApiError.ApiError) => Answer

/**
 * Responds to a request that is not HTTP, is too long or did not arrive in time: sends the error envelope and closes
 * the connection.
 *
 * These cases have no error codes of their own. If the URL or the headers exceed Node's limit of 16 KiB, the code is
 * `request_too_large`. If the request did not arrive in time, it is `service_unavailable`, because the request may be
 * valid: a paused host looks the same as a slow caller. In all other cases it is `invalid_json`.
 */
export const answer = (error: Error, socket: Duplex, refusal: Refuse): void => {
  const code = Predicate.hasProperty(error, "code") ? error.code : undefined
  if (code === "ECONNRESET" || !socket.writable) {
    socket.destroy()
    return
  }
  refuse(refusal(refusalOf(code)), socket)
}

const reasons: Readonly<Record<number, string>> = {
  400: "Bad Request",
  404: "Not Found",
  413: "Payload Too Large",
  503: "Service Unavailable"
}

/** How long the caller may take to close its side of the connection, in milliseconds. */
const lingerMs = 1_000

/** Writes a refusal to a raw socket and closes the connection, even if the caller keeps its side open. */
export const refuse = ({ status, headers, body }: Answer, socket: Duplex): void => {
  const text = String(body)
  const timer = setTimeout(() => socket.destroy(), lingerMs)
  socket.once("close", () => clearTimeout(timer))
  const lines = Object.entries({ ...headers, connection: "close" })
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
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") {
    return ApiError.make("service_unavailable", {
      message: "The request did not arrive in time, and nothing was done. Send it again.",
      retry_after_seconds: 1
    })
  }
  return ApiError.make("invalid_json", { message: "The request is not valid HTTP." })
}
