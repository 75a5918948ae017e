/** A line of text; null if the line was too long or not UTF-8. */
export type Line = string | null

/**
 * Creates a function that splits chunks of bytes into lines. A line can span several chunks.
 *
 * It keeps at most `maxBytes` of a line. A longer line becomes null as soon as it exceeds that limit, and the rest of
 * the line is dropped.
 */
export const splitter = (maxBytes: number): ((bytes: Uint8Array) => ReadonlyArray<Line>) => {
  const decoder = new TextDecoder("utf-8", { fatal: true })
  let parts: Array<Uint8Array> = []
  let length = 0
  let isDropping = false
  const add = (part: Uint8Array): ReadonlyArray<Line> => {
    if (isDropping) return []
    parts.push(part)
    length += part.length
    if (length <= maxBytes) return []
    parts = []
    isDropping = true
    return [null]
  }
  const end = (): ReadonlyArray<Line> => {
    const wasDropping = isDropping
    const text = decoded(decoder, parts, length)
    parts = []
    length = 0
    isDropping = false
    return wasDropping || text?.trim() === "" ? [] : [text]
  }
  return (bytes) => {
    const lines: Array<Line> = []
    let from = 0
    for (let at = bytes.indexOf(newlineByte); at >= 0; at = bytes.indexOf(newlineByte, from)) {
      lines.push(...add(bytes.subarray(from, at)), ...end())
      from = at + 1
    }
    lines.push(...add(bytes.slice(from)))
    return lines
  }
}

const newlineByte = 0x0a

/** The end of a line. */
export const newline = Uint8Array.of(newlineByte)

const decoded = (decoder: TextDecoder, parts: ReadonlyArray<Uint8Array>, length: number): Line => {
  const whole = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  try {
    return decoder.decode(whole)
  } catch {
    return null
  }
}
