/**
 * Sends a client's requests, instead of `fetch`. Rejects if no response arrives. It must not follow redirects, because
 * a redirect could send the key to another host.
 */
export type Transport = (request: TransportRequest) => Promise<TransportResponse>

/** A request for a transport to send. */
export interface TransportRequest {
  /** The scheme, host and port: `https://quotes.example.com`. */
  readonly origin: string
  /** The path and query, percent-encoded. */
  readonly path: string
  readonly method: "GET" | "POST" | "PATCH" | "DELETE"
  /** The headers, with lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** Aborted when nobody is waiting for the response anymore: after a timeout, or if the call was cancelled. */
  readonly signal: AbortSignal
}

/** The response to a request. The client either reads the body once or discards it once. */
export interface TransportResponse {
  readonly status: number
  /** Returns a header by its lower-case name; null if the response does not have it. */
  readonly header: (name: string) => string | null
  /**
   * Reads the body as UTF-8. Resolves with null, and stops reading, if the body is larger than `maxBytes`. Rejects if
   * the connection breaks.
   */
  readonly text: (maxBytes: number) => Promise<string | null>
  /** Discards the body. Never throws. */
  readonly discard: () => void
}

/** Makes a transport from `fetch` or a function like it. */
export const overFetch =
  (send: (url: string, init: RequestInit) => Promise<Response>): Transport =>
  async ({ body, headers, method, origin, path, signal }) => {
    const init = { method, headers, redirect: "manual", signal, ...(body !== null && { body }) } as const
    return receivedFrom(await send(`${origin}${path}`, init))
  }

/** A response of `fetch`, as a transport returns it. */
export const receivedFrom = (response: Response): TransportResponse => ({
  status: response.status,
  header: (name) => response.headers.get(name),
  text: (maxBytes) => textOf(response, maxBytes),
  discard: () => void response.body?.cancel().catch(() => {})
})

const textOf = async (response: Response, maxBytes: number): Promise<string | null> => {
  const length = response.headers.get("content-length")
  const isPlain = length !== null && !response.headers.has("content-encoding")
  if (isPlain && Number(length) <= maxBytes) return response.text()
  if (response.body === null) return ""
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  let text = ""
  for (let bytes = 0; ; ) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    bytes += value.length
    if (bytes > maxBytes) {
      reader.cancel().catch(() => {})
      return null
    }
    text += decoder.decode(value, { stream: true })
  }
}
