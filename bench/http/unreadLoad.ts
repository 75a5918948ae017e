import { connect, type Socket } from "node:net"
import * as Child from "../Child.ts"

/** Callers that send requests and read no answer. */
export interface Unread {
  readonly port: number
  readonly connections: number
  readonly path: string
  /** How many requests each of them sends at once. */
  readonly requests: number
  /** A connection is given up for a new one after this time. */
  readonly stays_ms: number
}

const open = ({ port, path, requests }: Unread): Socket => {
  const socket = connect({ port, host: "127.0.0.1" })
  // The server may end it at any time.
  socket.on("error", () => {})
  socket.pause()
  socket.write(`GET ${path} HTTP/1.1\r\n\r\n`.repeat(requests))
  return socket
}

const sockets: Array<Socket> = []

/** Opens the connections, and from then on replaces one after the other until the process ends. */
Child.answer((unread: Unread) => {
  while (sockets.length < unread.connections) sockets.push(open(unread))
  setInterval(() => {
    sockets.shift()?.destroy()
    sockets.push(open(unread))
  }, unread.stays_ms / unread.connections)
  return {}
})
