import { ApiError } from "@quotewire/core"

/** An HTTP answer before it is sent: a status, headers with lower-case names, and a body or none. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | null
}

/** What every answer of the API says of itself: answers belong to one caller and are never cached. */
const apiHeaders = { "content-type": "application/json", "cache-control": "no-store" } as const

/** An answer of the API from JSON text that is encoded already, with the revision that it is written in. */
export const json = (
  status: number,
  text: string,
  revision: string,
  headers: Readonly<Record<string, string>> = {}
): Answer => ({ status, headers: { ...apiHeaders, "service-version": revision, ...headers }, body: text })

/** What the refusals of a host have in common. */
export interface Refusals {
  /** Where the documentation stands, without a slash at the end: `doc_url` of every refusal begins with it. */
  readonly docs_url: string
  /** The newest revision: what is refused before another was chosen is told in it. */
  readonly revision: string
}

/**
 * The answer of a refusal: the whole envelope (api.md, Error envelope), in the revision that the refusal names.
 *
 * It carries `Retry-After` (seconds) where the refusal names a time, and `WWW-Authenticate` with a 401.
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
