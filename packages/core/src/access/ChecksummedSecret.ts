/* The format of keys and tokens: a prefix, a random secret, and a checksum. */

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const secretCharacters = 32
const checksumCharacters = 6

/** How many random bytes `write` needs. It discards some of them, so that every character is equally likely. */
export const randomBytes = 4 * secretCharacters

/**
 * Writes `<prefix>_<secret><checksum>`.
 *
 * The secret is 32 characters of base 62. The checksum lets the service refuse a mistyped secret without a lookup, and
 * lets secret scanners recognize a leaked secret.
 */
export const write = (prefix: string, random: Uint8Array): string => {
  const unbiased = Array.from(random).filter((byte) => byte < 4 * alphabet.length)
  if (unbiased.length < secretCharacters) throw new RangeError("Too few random bytes for a key")
  const secret = unbiased.slice(0, secretCharacters).map((byte) => alphabet.charAt(byte % alphabet.length))
  const head = `${prefix}_${secret.join("")}`
  return head + checksum(head)
}

/** Makes a function that checks whether text consists of one of these prefixes, a secret, and the right checksum. */
export const wellFormed = (...prefixes: ReadonlyArray<string>): ((text: string) => boolean) => {
  const form = new RegExp(`^(?:${prefixes.join("|")})_[0-9A-Za-z]{${secretCharacters + checksumCharacters}}$`)
  return (text) => {
    if (!form.test(text)) return false
    const end = text.length - checksumCharacters
    return checksum(text.slice(0, end)) === text.slice(end)
  }
}

/** The CRC-32 of a text, as six characters of base 62. */
const checksum = (text: string): string => {
  let characters = ""
  for (let rest = crc32(text), i = 0; i < checksumCharacters; i++, rest = Math.floor(rest / alphabet.length)) {
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
