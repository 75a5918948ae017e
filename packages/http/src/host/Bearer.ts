import type { IncomingHttpHeaders, IncomingMessage } from "node:http"

/**
 * A request's headers, in which an `Authorization` that was repeated is none that the service takes.
 *
 * Node keeps the first one; whoever stands before the host may have looked at the last one. So they are joined by commas,
 * as other repeated headers are.
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
 * Takes the key out of an `Authorization` header (api.md, Authentication 1).
 *
 * Null where no header was sent. Another scheme, or a header without a key, gives the empty text: a key that is wrong.
 */
export const key = (authorization: string | undefined): string | null => {
  if (authorization === undefined) return null
  return bearer.exec(authorization)?.[1] ?? ""
}

const bearer = /^bearer +([^\s,]+) *$/i
