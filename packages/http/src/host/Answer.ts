import type { IncomingMessage, ServerResponse } from "node:http"
import { ApiError } from "@quotewire/core"
import * as Body from "./Body.ts"

/*
 * Answers: what one is, those of the API, and how one is sent.
 */

/** An HTTP answer: a status, headers with lower-case names, and an optional body. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | null
}

/** The headers of every answer of the API. Answers belong to one caller and are never cached. */
const apiHeaders = { "content-type": "application/json", "cache-control": "no-store" } as const

/** An answer of the API from encoded JSON text, with its revision. */
export const json = (
  status: number,
  text: string,
  revision: string,
  headers: Readonly<Record<string, string>> = {}
): Answer => ({ status, headers: { ...apiHeaders, "service-version": revision, ...headers }, body: text })

/** Settings of a host's refusals. */
export interface Refusals {
  /** The address of the documentation, without a trailing slash: the base of every `doc_url`. */
  readonly docs_url: string
  /** The newest revision. Refusals before the choice of a revision use it. */
  readonly revision: string
}

/**
 * The answer of a refusal: the full envelope (api.md, Error envelope), in the revision of the refusal.
 *
 * It has `Retry-After` (seconds) if the refusal has a time, and `WWW-Authenticate` with a 401.
 */
export const refusal = (error: ApiError.ApiError, request_id: string, { docs_url, revision }: Refusals): Answer => {
  const headers: Record<string, string> = { ...apiHeaders, "service-version": error.revision ?? revision }
  if (error.retry_after_seconds !== null) headers["retry-after"] = String(error.retry_after_seconds)
  if (error.status === 401) headers["www-authenticate"] = "Bearer"
  return { status: error.status, headers, body: JSON.stringify(ApiError.envelope(error, request_id, docs_url)) }
}

/** An answer without a body. */
export const empty = (status: number, headers: Readonly<Record<string, string>> = {}): Answer => ({
  status,
  headers: { "cache-control": "no-store", ...headers },
  body: null
})

/** The size of a piece of a large answer. The next piece is written when the caller has taken this one. */
const piece_bytes = 64 * 1024

/**
 * Sends an answer with its exact length: in one write, or in pieces if it is large.
 *
 * `give` is called when the caller can take something: first with the length of the answer, then with 0 for each piece.
 *
 * If the request's body was not read, it is discarded if it is small. Otherwise the connection ends after the answer. Then
 * what the caller still sends is dropped for a moment first, because resetting the connection at once could destroy the
 * answer.
 */
export const send = (
  request: IncomingMessage,
  response: ServerResponse,
  answer: Answer,
  extra: Readonly<Record<string, string>>,
  give: (bytes: number) => void
): void => {
  const headers: Record<string, string | number> = { ...extra, ...answer.headers }
  const length = lengthOf(answer.body)
  if (answer.status !== 204) headers["content-length"] = length
  if (!isUnreadAndLarge(request)) {
    response.writeHead(answer.status, headers)
    give(length)
    // As many bytes as characters means ASCII, which Node stores in a third of the memory and need not encode.
    if (length > piece_bytes && request.method !== "HEAD") writePieces(response, bytesOf(answer.body), give)
    else if (length === answer.body?.length) response.end(answer.body, "latin1")
    else response.end(answer.body)
    return
  }
  headers.connection = "close"
  response.writeHead(answer.status, headers)
  give(length)
  if (answer.body === null) response.flushHeaders()
  else response.write(answer.body)
  linger(request, () => response.end())
}

const lengthOf = (body: Answer["body"]): number =>
  body === null ? 0 : typeof body === "string" ? Buffer.byteLength(body) : body.length

const bytesOf = (body: Answer["body"]): Uint8Array => (body instanceof Uint8Array ? body : Buffer.from(body ?? ""))

const writePieces = (response: ServerResponse, bytes: Uint8Array, give: (bytes: number) => void): void => {
  const writeFrom = (start: number): void => {
    const end = start + piece_bytes
    if (end >= bytes.length) return void response.end(bytes.subarray(start))
    response.write(bytes.subarray(start, end), (error) => {
      if (error != null) return
      give(0)
      writeFrom(end)
    })
  }
  writeFrom(0)
}

/** Up to this size, reading the rest costs less than a new connection. */
const small_bytes = 64 * 1024

const isUnreadAndLarge = (request: IncomingMessage): boolean => {
  if (request.complete || !Body.isAnnounced(request)) return false
  return request.headers["transfer-encoding"] !== undefined || Body.announcedBytes(request) > small_bytes
}

/** How long the rest of a body is dropped before the connection ends. */
const linger_ms = 1_000

const linger = (request: IncomingMessage, end: () => void): void => {
  const timer = setTimeout(end, linger_ms)
  request.once("close", () => {
    clearTimeout(timer)
    end()
  })
  request.resume()
}
