import { Option, Result, Schema } from "effect"
import { Base64Url } from "effect/encoding"
import type { Client, Introduction } from "./Protocol.ts"

/** A parsed session ID. Trust `session` only if `signature` is valid for `payload`. */
export interface SessionToken {
  readonly payload: string
  readonly signature: string
  readonly session: Session
}

/** What a client declared in the handshake, including its name. */
export interface Session extends Introduction {
  readonly client: Client
}

const Payload = Schema.fromJsonString(
  Schema.Struct({
    name: Schema.String,
    version: Schema.NullOr(Schema.String),
    elicits: Schema.optionalKey(Schema.Boolean),
    shows_views: Schema.optionalKey(Schema.Boolean)
  })
)
const decode = Schema.decodeUnknownOption(Payload)

/** The part of a session ID that is signed: the session as encoded JSON. */
export const payloadOf = ({ client: { name, version }, elicits, shows_views }: Session): string =>
  Base64Url.encode(JSON.stringify({ name, version, ...(elicits && { elicits }), ...(shows_views && { shows_views }) }))

/**
 * Creates a session ID. It contains the whole session, so nothing is stored. Any host that can verify the signature can
 * read it.
 */
export const write = (session: Session, signature: string): string => `${payloadOf(session)}.${signature}`

/** Parses a session ID; null if this service cannot have created it. */
export const read = (text: string): SessionToken | null => {
  const dot = text.indexOf(".")
  if (dot < 0 || text.length > longest) return null
  const payload = text.slice(0, dot)
  const decoded = decode(Result.getOrNull(Base64Url.decodeString(payload)))
  if (Option.isNone(decoded)) return null
  const { elicits = false, name, shows_views = false, version } = decoded.value
  return { payload, signature: text.slice(dot + 1), session: { client: { name, version }, elicits, shows_views } }
}

/**
 * The maximum length of a session ID, in characters. Longer IDs are rejected unread. `write` creates shorter IDs: each
 * holds two strings of at most 200 characters, encoded and signed.
 */
const longest = 4_096
