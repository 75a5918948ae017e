import { Mac } from "effect/crypto"

/*
 * Keyed hashes as `Seal` writes them: the name of the key, a dot, and the hash in base64url.
 */

/** The parts of a keyed hash. */
export const partsOf = (mac: string): { readonly key_name: string; readonly tag: string } => {
  const [key_name = "", tag = ""] = mac.split(".")
  return { key_name, tag }
}

const signature_characters = 22

/** The signature of what is sent in an address: 132 bits of a keyed hash. */
export const signatureOf = (mac: string): string => partsOf(mac).tag.slice(0, signature_characters)

/** Splits a text at the end of the signature that it begins with. */
export const splitSignature = (text: string): { readonly signature: string; readonly rest: string } => ({
  signature: text.slice(0, signature_characters),
  rest: text.slice(signature_characters)
})

/** What `Seal.macLike` takes for an older hash by the key of that name. */
export const byKey = (key_name: string): string => `${key_name}.`

/** Whether two hashes, or parts of them, are the same; compared in constant time. */
export const areEqual = (one: string, other: string): boolean => Mac.timingSafeEqual(bytesOf(one), bytesOf(other))

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
