import type { Server } from "node:http"
import type { Socket } from "node:net"
import { Effect } from "effect"

/** A server's open connections, including connections that another process accepted, which Node does not count. */
export class OpenConnections {
  private readonly sockets = new Set<Socket>()
  private readonly waiting = new Set<() => void>()

  constructor(server: Server) {
    server.on("connection", (socket: Socket) => {
      this.sockets.add(socket)
      socket.once("close", () => {
        this.sockets.delete(socket)
        if (this.sockets.size === 0) for (const resume of this.waiting) resume()
      })
    })
  }

  get count(): number {
    return this.sockets.size
  }

  /** Waits until no connection is open. */
  readonly none: Effect.Effect<void> = Effect.callback((resume) => {
    const done = () => resume(Effect.void)
    if (this.sockets.size === 0) return done()
    this.waiting.add(done)
    return Effect.sync(() => void this.waiting.delete(done))
  })
}
