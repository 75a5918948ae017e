import { Headers, HttpClientRequest } from "effect/http"

/** Asks for a gzipped response, unless the request already has an `accept-encoding` header. */
export const accepting = (request: HttpClientRequest.HttpClientRequest): HttpClientRequest.HttpClientRequest =>
  "accept-encoding" in request.headers ? request : HttpClientRequest.setHeader(request, "accept-encoding", "gzip")

/** The statuses of responses that never have a body. */
const withoutBody: ReadonlySet<number> = new Set([204, 205, 304])

/** Whether a response has a gzipped body. Bodies with any other encoding stay unchanged. */
export const isCompressed = (status: number, headers: Headers.Headers): boolean =>
  status >= 200 && !withoutBody.has(status) && /^(?:x-)?gzip$/i.test(headers["content-encoding"] ?? "")

/** The headers of a response after its body was decompressed. */
export const decompressedHeaders = (headers: Headers.Headers): Headers.Headers =>
  Headers.removeMany(headers, ["content-encoding", "content-length"])
