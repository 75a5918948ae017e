import { Mac } from "effect/crypto"

/*
 * Keyed hashes, as `Seal` makes them: the key's name, a dot, and the hash in base64url.
 */

/** The parts of a keyed hash. */
export const partsOf = (mac: string): { readonly key_name: string; readonly tag: string } => {
  const [key_name = "", tag = ""] = mac.split(".")
  return { key_name, tag }
}

const signature_characters = 22

/** A signature that is short enough for a URL: 132 bits of a keyed hash. */
export const signatureOf = (mac: string): string => partsOf(mac).tag.slice(0, signature_characters)

/** Splits text into its leading signature and the rest. */
export const splitSignature = (text: string): { readonly signature: string; readonly rest: string } => ({
  signature: text.slice(0, signature_characters),
  rest: text.slice(signature_characters)
})

/** A stand-in for an older hash, so that `Seal.macLike` uses the key with this name. */
export const byKey = (key_name: string): string => `${key_name}.`

/** Whether two hashes, or parts of them, are equal. Compared in constant time. */
export const areEqual = (one: string, other: string): boolean => Mac.timingSafeEqual(bytesOf(one), bytesOf(other))

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
