import { connect, createServer, type Server, type Socket } from "node:net"

/** A TCP proxy to a server that can simulate a network partition: bytes are dropped, and no connection is closed. */
export class Wire {
  private readonly pairs = new Set<readonly [Socket, Socket]>()
  private readonly server: Server
  private silent = false
  private refusing = false

  private constructor(server: Server) {
    this.server = server
  }

  /** Opens a proxy to a port of this machine. */
  static to(port: number): Promise<Wire> {
    return new Promise((resolve) => {
      const server = createServer((near) => {
        if (wire.refusing) return void near.destroy()
        const far = connect(port, "127.0.0.1")
        const pair = [near, far] as const
        wire.pairs.add(pair)
        for (const [from, to] of [pair, [far, near] as const]) {
          from.on("data", (bytes) => {
            if (!wire.silent) to.write(bytes)
          })
          from.on("close", () => to.destroy())
          from.on("error", () => to.destroy())
        }
        near.on("close", () => wire.pairs.delete(pair))
      })
      const wire = new Wire(server)
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

  /** Refuses connections from now on: closes the old ones, and new ones at once. */
  refuse(): void {
    this.refusing = true
    for (const pair of this.pairs) for (const socket of pair) socket.destroy()
  }

  /** Lets new connections through again. What was sent meanwhile is lost, so old ones stay dead. */
  restore(): void {
    this.refusing = false
    if (!this.silent) return
    const dead = [...this.pairs]
    for (const pair of dead) for (const socket of pair) socket.removeAllListeners("data")
    for (const pair of dead) for (const socket of pair) socket.resume()
    this.silent = false
  }

  /** How many connections there are. */
  get connections(): number {
    return this.pairs.size
  }

  close(): void {
    for (const pair of this.pairs) for (const socket of pair) socket.destroy()
    this.server.close()
  }
}
