import { Result } from "effect"
import { Base64Url } from "effect/encoding"
import { type Client, clientOf } from "./Protocol.ts"

/** The content of a session identifier, and the signature that must prove it. */
export interface SessionToken {
  readonly payload: string
  readonly signature: string
  readonly client: Client
}

/** The signed part of a session identifier: the client as described in `initialize`. */
export const payloadOf = ({ name, version }: Client): string => Base64Url.encode(JSON.stringify({ name, version }))

/**
 * Writes a session identifier. It contains the whole session, so nothing is stored, and any host that can verify the
 * signature can read it.
 */
export const write = (client: Client, signature: string): string => `${payloadOf(client)}.${signature}`

/** Splits a session identifier; null if it does not have our form. */
export const read = (session: string): SessionToken | null => {
  const dot = session.indexOf(".")
  if (dot < 0 || session.length > longest) return null
  const payload = session.slice(0, dot)
  const text = Base64Url.decodeString(payload)
  const client = Result.isSuccess(text) ? clientOf(parsed(text.success)) : null
  return client === null ? null : { payload, signature: session.slice(dot + 1), client }
}

const parsed = (text: string): unknown => Result.getOrNull(Result.try((): unknown => JSON.parse(text)))

/** More than the longest identifier that is written here: two names of 200 characters, encoded and signed. */
const longest = 4_096
