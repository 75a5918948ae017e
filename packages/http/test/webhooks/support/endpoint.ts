import * as Net from "node:net"
import * as Tls from "node:tls"
import { Effect } from "effect"
import type { Certificate } from "../../../../../test/support/certificate.ts"

/** A request as raw bytes. */
export interface Request {
  /** The request line. */
  readonly line: string
  readonly headers: Headers
  readonly body: string
  /** The server name in the TLS handshake; null if there is none. */
  readonly servername: string | null
}

/** What an endpoint does with a request: it writes anything to the socket. */
export type Script = (socket: Net.Socket, request: Request) => void

/** An endpoint that a test controls to the byte. */
export interface Endpoint {
  readonly port: number
  readonly requests: ReadonlyArray<Request>
  /** How many connections it has had in total, and has now. */
  readonly connections: () => { readonly all: number; readonly open: number; readonly most: number }
  /** How many bytes have arrived, including handshakes. */
  readonly received_bytes: () => number
}

/** Responds with a status, headers and a short body, and keeps the connection open. */
export const answer =
  (status: number, headers: Readonly<Record<string, string>> = {}, body = "ok"): Script =>
  (socket) => {
    const isBare = status === 204 || status === 304
    const lines = Object.entries({ ...headers, ...(!isBare && { "content-length": String(Buffer.byteLength(body)) }) })
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")
    socket.write(`HTTP/1.1 ${status} Fine\r\n${head}\r\n${isBare ? "" : body}`)
  }

/** Writes text unchanged. */
export const raw =
  (text: string): Script =>
  (socket) =>
    void socket.write(text)

/** Reads requests off a connection, one after another. */
const listen = (socket: Net.Socket, take: (request: Request) => void): void => {
  let text = ""
  socket.on("data", (bytes) => {
    text += bytes.toString("latin1")
    const end = text.indexOf("\r\n\r\n")
    if (end === -1) return
    const [line = "", ...fields] = text.slice(0, end).split("\r\n")
    const headers = new Headers(
      fields.map((field): [string, string] => [field.slice(0, field.indexOf(":")), field.slice(field.indexOf(":") + 1)])
    )
    const length = Number(headers.get("content-length"))
    if (text.length < end + 4 + length) return
    const body = Buffer.from(text.slice(end + 4, end + 4 + length), "latin1").toString()
    text = text.slice(end + 4 + length)
    const servername =
      socket instanceof Tls.TLSSocket && typeof socket.servername === "string" ? socket.servername : null
    take({ line, headers, body, servername })
  })
}

/** Starts an endpoint, with TLS if there is a certificate. */
export const start = (
  script: Script,
  options: { readonly certificate?: Certificate; readonly host?: string; readonly port?: number } = {}
) =>
  Effect.acquireRelease(
    Effect.callback<Endpoint & { readonly close: () => void }>((resume) => {
      const requests: Array<Request> = []
      const open = new Set<Net.Socket>()
      let all = 0
      let most = 0
      let receivedBytes = 0
      const serve = (socket: Net.Socket) => {
        socket.on("error", () => socket.destroy())
        listen(socket, (request) => {
          requests.push(request)
          script(socket, request)
        })
      }
      const note = (socket: Net.Socket) => {
        all++
        open.add(socket)
        most = Math.max(most, open.size)
        socket.on("error", () => socket.destroy())
        socket.on("close", () => {
          receivedBytes += socket.bytesRead
          open.delete(socket)
        })
      }
      const { certificate } = options
      const server = certificate === undefined ? Net.createServer(serve) : Tls.createServer({ ...certificate }, serve)
      server.on("connection", note)
      server.listen(options.port ?? 0, options.host ?? "127.0.0.1", () => {
        const bound = server.address()
        if (bound === null || typeof bound === "string") return resume(Effect.die("bound to no port"))
        const received = () => Array.from(open).reduce((sum, socket) => sum + socket.bytesRead, receivedBytes)
        const close = () => {
          server.close()
          for (const socket of open) socket.destroy()
        }
        const connections = () => ({ all, open: open.size, most })
        resume(Effect.succeed({ port: bound.port, requests, connections, received_bytes: received, close }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )
