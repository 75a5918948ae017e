import { ApiError } from "@quotewire/core"
import type { Effect } from "effect"

/* HTTP responses in general, and the API's responses. Platform-specific code sends them. */

/** An HTTP response: a status, headers with lower-case names, and an optional body. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | null
  /** Writes the body in pieces, instead of `body`. Writing is interrupted if the caller disconnects. */
  readonly stream?: Streamed
}

/** Writes a body in pieces. The body must be small: there is no backpressure, so unsent pieces stay in memory. */
export type Streamed = (write: (text: string) => void) => Effect.Effect<void>

/** The headers of every API response. A response is for one caller only, so it is never cached. */
const apiHeaders = { "content-type": "application/json", "cache-control": "no-store" } as const

/** An API response from encoded JSON, with the API revision in its headers. */
export const json = (
  status: number,
  text: string,
  revision: string,
  headers: Readonly<Record<string, string>> = {}
): Answer => ({ status, headers: { ...apiHeaders, "service-version": revision, ...headers }, body: text })

/** A response from encoded JSON that has no API revision, such as a response to an operator. */
export const unversioned = (status: number, text: string): Answer => ({ status, headers: apiHeaders, body: text })

/** Settings of a host's refusals. */
export interface Refusals {
  /** The address of the documentation, without a trailing slash: the base of every `doc_url`. */
  readonly docs_url: string
  /** The newest API revision. Refusals use it if no revision has been chosen yet. */
  readonly revision: string
}

/**
 * The response that refuses a call: the full error envelope (api.md, Error envelope), in the refusal's revision.
 *
 * Sets `Retry-After` (in seconds) if the refusal has a retry time, and `WWW-Authenticate` if the status is 401.
 */
export const refusal = (error: ApiError.ApiError, requestId: string, { docs_url, revision }: Refusals): Answer => {
  const headers: Record<string, string> = { ...apiHeaders, "service-version": error.revision ?? revision }
  if (error.retry_after_seconds !== null) headers["retry-after"] = String(error.retry_after_seconds)
  if (error.status === 401) headers["www-authenticate"] = "Bearer"
  return { status: error.status, headers, body: JSON.stringify(ApiError.envelope(error, requestId, docs_url)) }
}

/** A response without a body. */
export const empty = (status: number, headers: Readonly<Record<string, string>> = {}): Answer => ({
  status,
  headers: { "cache-control": "no-store", ...headers },
  body: null
})
