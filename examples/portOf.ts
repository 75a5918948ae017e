import type { Server } from "node:net"

/** The port of a server that picked a free one. */
export const portOf = (server: Server): number => {
  const bound = server.address()
  return typeof bound === "object" && bound !== null ? bound.port : 0
}
