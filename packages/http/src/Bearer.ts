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
