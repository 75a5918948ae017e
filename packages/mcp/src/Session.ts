import { Result } from "effect"
import { Base64Url } from "effect/encoding"
import { type Client, clientOf } from "./Protocol.ts"

/** What a session identifier claims, and the signature that must prove it. */
export interface Claim {
  readonly payload: string
  readonly signature: string
  readonly client: Client
}

/** The part of a session identifier that is signed: who the client of `initialize` says that it is. */
export const payloadOf = ({ name, version }: Client): string => Base64Url.encode(JSON.stringify({ name, version }))

/**
 * Writes the identifier of a session, which says all there is to know of it: nothing is stored, and any host that knows
 * the signature can read it.
 */
export const write = (client: Client, signature: string): string => `${payloadOf(client)}.${signature}`

/** Takes an identifier apart; null where it is none of ours. */
export const read = (session: string): Claim | null => {
  const dot = session.indexOf(".")
  if (dot < 0 || session.length > longest) return null
  const payload = session.slice(0, dot)
  const text = Base64Url.decodeString(payload)
  const client = Result.isSuccess(text) ? clientOf(parsed(text.success)) : null
  return client === null ? null : { payload, signature: session.slice(dot + 1), client }
}

const parsed = (text: string): unknown => Result.getOrNull(Result.try((): unknown => JSON.parse(text)))

/** Longer than any that is written here: two names of 200 characters, encoded and signed. */
const longest = 4_096
