/** Collects the SQL of the statements that a client executes on one connection, from the bytes that it sends. */
export const statementReader = (executed: (sql: string) => void): ((bytes: Buffer) => void) => {
  const prepared = new Map<string, string>()
  let left = Buffer.alloc(0)
  let isStarted = false

  const read = (message: Buffer) => {
    const [first = "", second = ""] = message.subarray(5).toString("latin1").split("\0", 2)
    const type = String.fromCharCode(message[0] ?? 0)
    if (type === "Q") executed(first)
    else if (type === "P") prepared.set(first, second)
    else if (type === "B") executed(prepared.get(second) ?? "")
  }

  return (bytes) => {
    left = Buffer.concat([left, bytes])
    for (;;) {
      // Only the first message of a connection has no type before its length.
      const typeBytes = isStarted ? 1 : 0
      if (left.length < typeBytes + 4) return
      const end = typeBytes + left.readInt32BE(typeBytes)
      if (left.length < end) return
      if (isStarted) read(left.subarray(0, end))
      isStarted = true
      left = left.subarray(end)
    }
  }
}
