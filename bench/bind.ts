import type { Server } from "node:net"

/** Binds a server to a free port of this machine, and returns the port. */
export const bind = (server: Server): Promise<number> =>
  new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      resolve(typeof address === "object" && address !== null ? address.port : 0)
    })
  })
