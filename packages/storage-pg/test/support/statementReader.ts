/** The codes of requests that precede a connection's startup message: TLS and GSSAPI encryption. */
const encryptionRequests: ReadonlySet<number> = new Set([80_877_103, 80_877_104])

/** Longer messages are not from a PostgreSQL client: the bytes are encrypted. */
const maxMessageBytes = 64 * 1_024 * 1_024

/**
 * Collects the SQL of the statements that a client executes on one connection, from the bytes that it sends. Collects
 * nothing after bytes that are no message, such as those of an encrypted connection.
 */
export const statementReader = (executed: (sql: string) => void): ((bytes: Buffer) => void) => {
  const prepared = new Map<string, string>()
  let left = Buffer.alloc(0)
  let isStarted = false
  let isReadable = true

  const read = (message: Buffer) => {
    const [first = "", second = ""] = message.subarray(5).toString("latin1").split("\0", 2)
    const type = String.fromCharCode(message[0] ?? 0)
    if (type === "Q") executed(first)
    else if (type === "P") prepared.set(first, second)
    else if (type === "B") executed(prepared.get(second) ?? "")
  }

  return (bytes) => {
    if (!isReadable) return
    left = Buffer.concat([left, bytes])
    while (true) {
      // Messages before the startup message, and the startup message itself, have no type before their length.
      const typeBytes = isStarted ? 1 : 0
      if (left.length < typeBytes + 4) return
      const length = left.readInt32BE(typeBytes)
      isReadable = length >= (isStarted ? 4 : 8) && length <= maxMessageBytes
      if (!isReadable) {
        left = Buffer.alloc(0)
        return
      }
      const end = typeBytes + length
      if (left.length < end) return
      if (isStarted) read(left.subarray(0, end))
      else isStarted = !encryptionRequests.has(left.readInt32BE(4))
      left = left.subarray(end)
    }
  }
}
