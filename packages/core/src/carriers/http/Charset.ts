/** How many bytes are searched for an XML declaration, which names the encoding. */
const declarationBytes = 128

/**
 * The decoder for a body. It uses the character set in `content-type`, otherwise the byte order mark or XML
 * declaration, otherwise UTF-8. `bytes` is the body or the beginning of the body.
 */
export const decoderOf = (contentType: string | null | undefined, bytes: Uint8Array): TextDecoder => {
  const [, charset = markOf(bytes) ?? declaredIn(bytes)] = /charset\s*=\s*"?([\w.:-]+)/i.exec(contentType ?? "") ?? []
  try {
    return new TextDecoder(charset)
  } catch {
    return new TextDecoder()
  }
}

const markOf = ([first, second]: Uint8Array): string | undefined => {
  if (first === 0xff && second === 0xfe) return "utf-16le"
  return first === 0xfe && second === 0xff ? "utf-16be" : undefined
}

const declaredIn = (bytes: Uint8Array): string | undefined => {
  const beginning = new TextDecoder("latin1").decode(bytes.subarray(0, declarationBytes))
  return /^(?:ï»¿)?<\?xml\s[^>]*?encoding\s*=\s*["']([\w.:-]+)["']/.exec(beginning)?.[1]
}
