import { Predicate, Result } from "effect"
import { Base64Url } from "effect/encoding"
import { type Client, clientOf, type Introduction } from "./Protocol.ts"

/** The content of a session identifier, and the signature that must prove it. */
export interface SessionToken {
  readonly payload: string
  readonly signature: string
  readonly session: Session
}

/** What a handshake has told. */
export interface Session extends Introduction {
  readonly client: Client
}

/** The signed part of a session identifier: the program as described in `initialize`. */
export const payloadOf = ({ client: { name, version }, elicits, shows_views }: Session): string =>
  Base64Url.encode(JSON.stringify({ name, version, ...(elicits && { elicits }), ...(shows_views && { shows_views }) }))

/**
 * Writes a session identifier. It contains the whole session, so nothing is stored, and any host that can verify the
 * signature can read it.
 */
export const write = (session: Session, signature: string): string => `${payloadOf(session)}.${signature}`

/** Splits a session identifier; null if it does not have our form. */
export const read = (session: string): SessionToken | null => {
  const dot = session.indexOf(".")
  if (dot < 0 || session.length > longest) return null
  const payload = session.slice(0, dot)
  const text = Base64Url.decodeString(payload)
  const told = Result.isSuccess(text) ? parsed(text.success) : null
  const client = clientOf(told)
  if (client === null) return null
  const declares = (capability: "elicits" | "shows_views") => Predicate.isObject(told) && told[capability] === true
  const declared = { elicits: declares("elicits"), shows_views: declares("shows_views") }
  return { payload, signature: session.slice(dot + 1), session: { client, ...declared } }
}

const parsed = (text: string): unknown => Result.getOrNull(Result.try((): unknown => JSON.parse(text)))

/** More than the longest identifier that is written here: two names of 200 characters, encoded and signed. */
const longest = 4_096
