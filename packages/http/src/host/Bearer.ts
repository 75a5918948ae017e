import type { IncomingHttpHeaders, IncomingMessage } from "node:http"

/**
 * A request's headers, with repeated `Authorization` headers joined, so that they are never valid.
 *
 * Node would keep only the first one, but a proxy before the host may have checked the last one. Other repeated headers are
 * joined by commas in the same way.
 */
export const headersOf = ({ headers, rawHeaders }: IncomingMessage): IncomingHttpHeaders => {
  let sent = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ""
    if (name.length === header.length && name.toLowerCase() === header) sent++
  }
  return sent < 2 ? headers : { ...headers, [header]: repeated(rawHeaders) }
}

const header = "authorization"

const repeated = (rawHeaders: ReadonlyArray<string>): string =>
  rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === header).join(", ")

/**
 * The key in an `Authorization` header (api.md, Authentication 1).
 *
 * Null if the header was not sent. An empty text, which is a wrong key, for another scheme or a header without a key.
 */
export const key = (authorization: string | undefined): string | null => {
  if (authorization === undefined) return null
  return bearer.exec(authorization)?.[1] ?? ""
}

const bearer = /^bearer +([^\s,]+) *$/i
