import { connect, createServer, type Server, type Socket } from "node:net"
import { Effect } from "effect"
import { statementReader } from "./statementReader.ts"

/** Which bytes are delayed: those to the server, those from it, or both. */
export type Direction = "to" | "from" | "both"

/** The first byte of the message with which a client leaves. */
const terminate = 0x58

/** A TCP proxy to a server that can simulate a network partition: bytes are dropped or wait, and no connection is closed. */
export class Wire {
  private readonly pairs = new Set<readonly [near: Socket, far: Socket]>()
  private readonly server: Server
  private target: number
  private frozen: Direction | null = null
  private silent = false
  private refusing = false
  /** How many times clients have sent something, except that they leave: once for each statement. */
  requests = 0
  /** How many times the server has sent something. */
  answers = 0
  /** Receives the SQL of each statement that clients execute on connections that they open from now on. */
  onStatement: ((sql: string) => void) | null = null

  private constructor(server: Server, port: number) {
    this.server = server
    this.target = port
  }

  /** Opens a proxy to a port of this machine. */
  static to(port: number): Promise<Wire> {
    return new Promise((resolve) => {
      const server = createServer((near) => {
        if (wire.refusing) return void near.destroy()
        const far = connect(wire.target, "127.0.0.1")
        const pair = [near, far] as const
        const read = wire.onStatement === null ? null : statementReader(wire.onStatement)
        wire.pairs.add(pair)
        for (const [from, to] of [pair, [far, near] as const]) {
          from.on("data", (bytes) => {
            if (from === far) wire.answers++
            else {
              read?.(bytes)
              if (bytes[0] !== terminate) wire.requests++
            }
            if (!wire.silent) to.write(bytes)
          })
          from.on("close", () => to.destroy())
          from.on("error", () => to.destroy())
        }
        near.on("close", () => wire.pairs.delete(pair))
        if (wire.frozen !== null) wire.pause(pair, wire.frozen)
      })
      const wire = new Wire(server, port)
      server.listen(0, "127.0.0.1", () => resolve(wire))
    })
  }

  get port(): number {
    const address = this.server.address()
    return typeof address === "object" && address !== null ? address.port : 0
  }

  /** Drops everything from now on, on old connections and new ones. */
  silence(): void {
    this.silent = true
  }

  /** Delays bytes on old and new connections from now on, until `thaw`. */
  freeze(direction: Direction): void {
    this.frozen = direction
    for (const pair of this.pairs) this.pause(pair, direction)
  }

  /** Sends the delayed bytes, and no longer delays any. */
  thaw(): void {
    this.frozen = null
    for (const pair of this.pairs) for (const socket of pair) socket.resume()
  }

  private pause([near, far]: readonly [near: Socket, far: Socket], direction: Direction): void {
    if (direction !== "from") near.pause()
    if (direction !== "to") far.pause()
  }

  /** Forwards to another local port from now on. Closes the connections to the old port. */
  lead(port: number): void {
    this.target = port
    for (const pair of this.pairs) for (const socket of pair) socket.destroy()
  }

  /** Refuses connections from now on: closes existing connections, and new ones immediately. */
  refuse(): void {
    this.refusing = true
    for (const pair of this.pairs) for (const socket of pair) socket.destroy()
  }

  /** Lets new connections through again. Bytes sent in the meantime are lost, so old connections stay dead. */
  restore(): void {
    this.refusing = false
    if (!this.silent) return
    const dead = [...this.pairs]
    for (const pair of dead) for (const socket of pair) socket.removeAllListeners("data")
    for (const pair of dead) for (const socket of pair) socket.resume()
    this.silent = false
  }

  /** The number of open connections. */
  get connections(): number {
    return this.pairs.size
  }

  close(): void {
    for (const pair of this.pairs) for (const socket of pair) socket.destroy()
    this.server.close()
  }
}

/** A proxy in front of a database, for as long as the scope lives, and the database's address through it. */
export const wireTo = Effect.fnUntraced(function* (url: string) {
  const address = new URL(url)
  const wire = yield* Effect.acquireRelease(
    Effect.promise(() => Wire.to(Number(address.port || "5432"))),
    (laid) => Effect.sync(() => laid.close())
  )
  address.host = `127.0.0.1:${wire.port}`
  return { wire, url: address.href }
})
