import { connect, type Socket } from "node:net"
import type { WebhookSender } from "@quotewire/core"
import { buildConnector } from "undici"

/** The error of a connection that could not be opened. */
export class DialError extends Error {
  readonly failure: WebhookSender.SendFailure

  constructor(failure: WebhookSender.SendFailure, cause?: Error) {
    super(failure, { cause })
    this.failure = failure
  }
}

/** Opens a socket to an address, without a name look-up. */
export type Connect = (address: string, port: number) => Socket

/** Opens a TCP socket. */
export const tcp: Connect = (address, port) => connect({ host: address, port, noDelay: true })

/** What is needed to dial. */
export interface Means {
  readonly connect: Connect
  /** Whether the address is allowed. It is checked again on the connected socket. */
  readonly isFit: (address: string) => boolean
  /** Turns a connected socket into a TLS socket, for the name of the host. */
  readonly secure: buildConnector.connector
}

/** The TLS of webhooks: HTTP/1.1, with certificates verified whatever the environment says. */
export const tls = (certificate_authorities: ReadonlyArray<string> | undefined): buildConnector.connector =>
  buildConnector({
    allowH2: false,
    rejectUnauthorized: true,
    // The POST has its own deadline.
    timeout: 0,
    ...(certificate_authorities !== undefined && { ca: [...certificate_authorities] })
  })

/**
 * A connector for undici that always dials this address, whatever the host's name resolves to by now.
 *
 * `opened` gets the socket at once. `ready` gets the socket that HTTP uses, after TLS and before any HTTP.
 * The remote address is checked when the socket is connected, before any byte is written, also of TLS.
 */
export const to =
  (
    means: Means,
    address: string,
    opened: (socket: Socket) => void,
    ready: (socket: Socket) => void
  ): buildConnector.connector =>
  (options, callback) => {
    const isSecure = options.protocol === "https:"
    const socket = means.connect(address, Number(options.port) || (isSecure ? 443 : 80))
    opened(socket)
    let isOver = false
    const fail = (failure: WebhookSender.SendFailure, cause?: Error): void => {
      socket.destroy()
      if (isOver) return
      isOver = true
      callback(new DialError(failure, cause), null)
    }
    socket.on("error", (error) => fail("connection_failed", error))
    socket.once("close", () => fail("connection_failed"))
    socket.once("connect", () => {
      if (socket.remoteAddress === undefined || !means.isFit(socket.remoteAddress)) return fail("refused_address")
      if (!isSecure) {
        isOver = true
        ready(socket)
        return callback(null, socket)
      }
      means.secure({ ...options, httpSocket: socket }, (error, secured) => {
        if (error !== null) return fail("tls_failed", error)
        if (isOver) return void secured.destroy()
        isOver = true
        ready(secured)
        callback(null, secured)
      })
    })
  }
