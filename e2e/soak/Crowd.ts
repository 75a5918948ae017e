import { once } from "node:events"
import * as Net from "node:net"
import { setTimeout as after } from "node:timers/promises"

/** Connections that misbehave, or are just numerous. */
export interface Crowd {
  readonly name: string
  /** Opens its connections, uses them for a while, and returns when all are closed. */
  readonly come: (port: number) => Promise<void>
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`

/** How long a crowd stays after it has connected, in milliseconds. */
const staysMs = 20_000

/** Opens connections, a hundred at a time, so that the backlog does not overflow. */
const open = async (port: number, count: number): Promise<ReadonlyArray<Net.Socket>> => {
  const sockets: Array<Net.Socket> = []
  while (sockets.length < count) {
    const some = Array.from({ length: Math.min(100, count - sockets.length) }, () => {
      const socket = Net.connect(port, "127.0.0.1")
      socket.on("error", () => socket.destroy())
      return socket
    })
    await Promise.all(some.map((socket) => once(socket, "connect")))
    sockets.push(...some)
  }
  return sockets
}

const close = (sockets: ReadonlyArray<Net.Socket>) => {
  for (const socket of sockets) socket.destroy()
}

const unread: Crowd = {
  name: "300 connections that read no response",
  come: async (port) => {
    const sockets = await open(port, 300)
    for (const socket of sockets) socket.pause().write(get("/openapi.json").repeat(10))
    await after(staysMs)
    close(sockets)
  }
}

const slow: Crowd = {
  name: "300 connections that read 10 KB a second",
  come: async (port) => {
    const sockets = await open(port, 300)
    for (const socket of sockets) socket.pause().write(get("/openapi.json").repeat(10))
    const reading = setInterval(() => {
      for (const socket of sockets) socket.read(1_024)
    }, 100)
    await after(staysMs)
    clearInterval(reading)
    close(sockets)
  }
}

const many: Crowd = {
  name: "5,000 connections",
  come: async (port) => {
    const sockets = await open(port, 5_000)
    let answers = 0
    for (const socket of sockets) {
      socket.once("data", () => {
        answers += 1
      })
      // All connect before the first request ends.
      socket.write("GET /health/live HTTP/1.1\r\n")
    }
    for (const socket of sockets) socket.write("Host: 127.0.0.1\r\n\r\n")
    for (let waitedMs = 0; answers < sockets.length && waitedMs < staysMs; waitedMs += 100) await after(100)
    close(sockets)
    if (answers < sockets.length) throw new Error(`Only ${answers} of ${sockets.length} connections got a response`)
  }
}

/** The crowds that come to a host, one after another. */
export const crowds: ReadonlyArray<Crowd> = [unread, slow, many]
