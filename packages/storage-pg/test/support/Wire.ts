import { connect, createServer, type Server, type Socket } from "node:net"

/** A wire to a server that can be cut without anybody being told: bytes are swallowed, and nothing is closed. */
export class Wire {
  private readonly pairs = new Set<readonly [Socket, Socket]>()
  private readonly server: Server
  private silent = false
  private refusing = false

  private constructor(server: Server) {
    this.server = server
  }

  /** Lays a wire to a port of this machine. */
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

  /** From now on nothing comes through, of old connections and of new ones. */
  silence(): void {
    this.silent = true
  }

  /** From now on there are no connections: old ones are closed, and new ones at once. */
  refuse(): void {
    this.refusing = true
    for (const pair of this.pairs) for (const socket of pair) socket.destroy()
  }

  /** New connections come through again. What was sent meanwhile is lost, so old ones stay dead. */
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
