import type { Socket } from "node:net"

/** The most bytes that are read for one answer, including those outside headers and body. */
const max_wire_bytes = 256 * 1_024

/** How many characters of an answer are needed to read its status: `HTTP/1.1 200` and one more. */
const beginning = 13

/**
 * Reads the status of an answer from the raw bytes.
 *
 * undici reports no status if it cannot use the answer: an unrequested upgrade, headers that are too large or malformed. But
 * the status was received, and is what the endpoint's owner looks for in the log.
 */
export class StatusLine {
  private text = ""
  private received_bytes = 0
  private onFlood: () => void = () => {}

  /** Starts to read the bytes of a connected socket. */
  listen(socket: Socket): void {
    const read = socket.read.bind(socket)
    socket.read = (size) => {
      const chunk = read(size)
      if (Buffer.isBuffer(chunk)) this.hear(chunk)
      return chunk
    }
  }

  /** Forgets the previous answer, and calls `onFlood` if the next one is too long. */
  begin(onFlood: () => void): void {
    this.text = ""
    this.received_bytes = 0
    this.onFlood = onFlood
  }

  private hear(chunk: Buffer): void {
    if (this.text.length < beginning) this.text += chunk.toString("latin1", 0, beginning - this.text.length)
    this.received_bytes += chunk.length
    // After the parser, so that its own verdict on these bytes comes first.
    if (this.received_bytes > max_wire_bytes) setImmediate(this.onFlood)
  }

  /** Whether any byte of an answer has arrived. */
  get hasBegun(): boolean {
    return this.text !== ""
  }

  /** The status at the beginning of the answer; null if there is none, or if it is an interim status. */
  get status(): number | null {
    const status = Number(/^HTTP\/1\.[01] ([1-5][0-9]{2})[ \r\n]/.exec(this.text)?.[1] ?? Number.NaN)
    return status === 101 || status >= 200 ? status : null
  }
}
