import { Predicate, Result } from "effect"
import { Base64Url } from "effect/encoding"
import { type Client, clientOf, type Introduction } from "./Protocol.ts"

/** A session identifier, taken apart. Trust `session` only if `signature` is that of `payload`. */
export interface SessionToken {
  readonly payload: string
  readonly signature: string
  readonly session: Session
}

/** What a program with a name has said in the handshake. */
export interface Session extends Introduction {
  readonly client: Client
}

/** The part of a session identifier that is signed: the session as JSON, encoded. */
export const payloadOf = ({ client: { name, version }, elicits, shows_views }: Session): string =>
  Base64Url.encode(JSON.stringify({ name, version, ...(elicits && { elicits }), ...(shows_views && { shows_views }) }))

/**
 * Writes a session identifier. It contains the whole session, so nothing is stored, and any host that can verify the
 * signature can read it.
 */
export const write = (session: Session, signature: string): string => `${payloadOf(session)}.${signature}`

/** Takes a session identifier apart; null if this service cannot have written it. */
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
