import { ApiError } from "@quotewire/core"
import type { Effect } from "effect"

/*
 * HTTP answers in general, and those of the API. How an answer is sent depends on the platform.
 */

/** An HTTP answer: a status, headers with lower-case names, and an optional body. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | null
  /** Instead of `body`: writes the body in pieces. If the caller disconnects, it is interrupted. */
  readonly stream?: Streamed
}

/** Writes a body in pieces. The body must be small: without backpressure, pieces wait in memory until they are sent. */
export type Streamed = (write: (text: string) => void) => Effect.Effect<void>

/** The headers of every answer of the API. Answers belong to one caller and are never cached. */
const apiHeaders = { "content-type": "application/json", "cache-control": "no-store" } as const

/** An answer of the API from encoded JSON text, with its revision. */
export const json = (
  status: number,
  text: string,
  revision: string,
  headers: Readonly<Record<string, string>> = {}
): Answer => ({ status, headers: { ...apiHeaders, "service-version": revision, ...headers }, body: text })

/** An answer from encoded JSON text that has no revision, such as one for operators. */
export const unversioned = (status: number, text: string): Answer => ({ status, headers: apiHeaders, body: text })

/** Settings of a host's refusals. */
export interface Refusals {
  /** The address of the documentation, without a trailing slash: the base of every `doc_url`. */
  readonly docs_url: string
  /** The newest revision. Used for refusals before a revision is chosen. */
  readonly revision: string
}

/**
 * The answer of a refusal: the full envelope (api.md, Error envelope), in the revision of the refusal.
 *
 * Sets `Retry-After` (in seconds) if the refusal has a retry time, and `WWW-Authenticate` with a 401.
 */
export const refusal = (error: ApiError.ApiError, requestId: string, { docs_url, revision }: Refusals): Answer => {
  const headers: Record<string, string> = { ...apiHeaders, "service-version": error.revision ?? revision }
  if (error.retry_after_seconds !== null) headers["retry-after"] = String(error.retry_after_seconds)
  if (error.status === 401) headers["www-authenticate"] = "Bearer"
  return { status: error.status, headers, body: JSON.stringify(ApiError.envelope(error, requestId, docs_url)) }
}

/** An answer without a body. */
export const empty = (status: number, headers: Readonly<Record<string, string>> = {}): Answer => ({
  status,
  headers: { "cache-control": "no-store", ...headers },
  body: null
})
