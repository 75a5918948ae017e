import type { Socket } from "node:net"

/** The most bytes that are read of an answer, with everything that is neither header nor body. */
const max_wire_bytes = 256 * 1_024

/** So many characters of an answer tell its status: `HTTP/1.1 200` and what follows. */
const beginning = 13

/**
 * Reads the status of an answer off the wire.
 *
 * undici tells nothing of an answer that it cannot use: an upgrade that nobody asked for, headers that are too large or
 * garbled. The status stood on the wire all the same, and is what the endpoint's owner looks for in the log.
 */
export class StatusLine {
  private text = ""
  private received_bytes = 0
  private onFlood: () => void = () => {}

  /** Hears what is read from a connected socket from now on. */
  listen(socket: Socket): void {
    const read = socket.read.bind(socket)
    socket.read = (size) => {
      const chunk = read(size)
      if (Buffer.isBuffer(chunk)) this.hear(chunk)
      return chunk
    }
  }

  /** Forgets the answer before, and tells of a flood in the next one. */
  begin(onFlood: () => void): void {
    this.text = ""
    this.received_bytes = 0
    this.onFlood = onFlood
  }

  private hear(chunk: Buffer): void {
    if (this.text.length < beginning) this.text += chunk.toString("latin1", 0, beginning - this.text.length)
    this.received_bytes += chunk.length
    // Not before the parser has had its turn: what it makes of the bytes comes first.
    if (this.received_bytes > max_wire_bytes) setImmediate(this.onFlood)
  }

  /** Whether anything of an answer has come. */
  get hasBegun(): boolean {
    return this.text !== ""
  }

  /** The status that the answer begins with; null where it has none, or it says that another answer follows. */
  get status(): number | null {
    const status = Number(/^HTTP\/1\.[01] ([1-5][0-9]{2})[ \r\n]/.exec(this.text)?.[1] ?? Number.NaN)
    return status === 101 || status >= 200 ? status : null
  }
}
