import type { IncomingHttpHeaders, IncomingMessage } from "node:http"

/**
 * A request's headers, with repeated `Authorization` headers joined, so that they are never valid.
 *
 * Node would keep only the first one, but a proxy in front of the host may have checked the last one. Other repeated
 * headers are joined with commas in the same way.
 */
export const headersOf = ({ headers, rawHeaders }: IncomingMessage): IncomingHttpHeaders => {
  let sent = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ""
    if (name.length === authorization.length && name.toLowerCase() === authorization) sent++
  }
  return sent < 2 ? headers : { ...headers, [authorization]: repeated(rawHeaders) }
}

const authorization = "authorization"

const repeated = (rawHeaders: ReadonlyArray<string>): string =>
  rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === authorization).join(", ")
