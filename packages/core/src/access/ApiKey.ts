import { Schema } from "effect"
import * as Kind from "../storage/Kind.ts"
import { KeyId, OrganizationId, WorkspaceId } from "../wire/Ids.ts"
import { Environment, KeyKind } from "./Caller.ts"

/** An API key as stored: never the key itself, only its SHA-256, which is the id of the record. */
export const ApiKey = Schema.Struct({
  id: KeyId,
  organization_id: OrganizationId,
  workspace_id: WorkspaceId,
  environment: Environment,
  kind: KeyKind,
  created_at: Schema.Int,
  revoked_at: Schema.NullOr(Schema.Int)
})
export type ApiKey = typeof ApiKey.Type

/** Keys in storage, by hash, and listed by organization and by key id. */
export const kind = Kind.make({
  name: "api_key",
  schema: ApiKey,
  survives_reset: true,
  listing: ({ id, organization_id }) => ({ parent: organization_id, labels: [labelOf(id)] })
})

/** The label that makes a key findable by its id. */
export const labelOf = (id: KeyId): string => `key:${id}`

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const secret_characters = 32
const checksum_characters = 6

/** How many random bytes `write` needs. Some are discarded, so that all characters are equally likely. */
export const random_bytes = 4 * secret_characters

/**
 * Writes a key: `<environment>_<kind>_<secret><checksum>`.
 *
 * The secret is 32 characters of base 62. With the checksum a mistyped key is refused without a look-up, and scanners can
 * recognize leaked keys.
 */
export const write = (environment: Environment, kind: KeyKind, random: Uint8Array): string => {
  const unbiased = Array.from(random).filter((byte) => byte < 4 * alphabet.length)
  if (unbiased.length < secret_characters) throw new RangeError("Too few random bytes for a key")
  const secret = unbiased.slice(0, secret_characters).map((byte) => alphabet.charAt(byte % alphabet.length))
  const head = `${environment}_${kind}_${secret.join("")}`
  return head + checksum(head)
}

const form = /^(sandbox|live)_(server|widget|platform)_[0-9A-Za-z]{38}$/

/** Whether text has the form and the checksum of a key. It does not say whether the key exists. */
export const isWellFormed = (text: string): boolean => {
  if (!form.test(text)) return false
  const end = text.length - checksum_characters
  return checksum(text.slice(0, end)) === text.slice(end)
}

/** The CRC-32 of the text before it, as six characters of base 62. */
const checksum = (text: string): string => {
  let characters = ""
  for (let rest = crc32(text), i = 0; i < checksum_characters; i++, rest = Math.floor(rest / alphabet.length)) {
    characters = alphabet.charAt(rest % alphabet.length) + characters
  }
  return characters
}

const crc32 = (text: string): number => {
  let crc = 0xffffffff
  for (let i = 0; i < text.length; i++) {
    crc ^= text.charCodeAt(i)
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  }
  return (crc ^ 0xffffffff) >>> 0
}
