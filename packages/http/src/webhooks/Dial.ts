import { connect, type Socket } from "node:net"
import type { WebhookSender } from "@quotewire/core"
import { buildConnector } from "undici"

/** A connection could not be opened. */
export class DialError extends Error {
  readonly failure: WebhookSender.SendFailure
  /** The failure as a code, such as `REFUSED_ADDRESS`, like the codes of socket errors. */
  readonly code: string

  constructor(failure: WebhookSender.SendFailure, cause?: Error) {
    super(failure, { cause })
    this.failure = failure
    this.code = failure.toUpperCase()
  }
}

/** Opens a socket to an address, without resolving a name. */
export type Connect = (address: string, port: number) => Socket

/** Opens a TCP socket. */
export const tcp: Connect = (address, port) => connect({ host: address, port, noDelay: true })

/** A client certificate for mutual TLS, with its private key, in PEM. */
export interface ClientCertificate {
  readonly certificate: string
  readonly key: string
  readonly passphrase?: string
}

/** TLS settings of connections. */
export interface TlsSettings {
  /** The certificate authorities to trust instead of the runtime's, in PEM. */
  readonly certificate_authorities?: ReadonlyArray<string> | undefined
  readonly client_certificate?: ClientCertificate | undefined
}

/**
 * Creates a function that starts TLS for HTTP/1.1 on a socket. It always verifies certificates, even if the environment
 * turns verification off. Omit the limit if the request has its own deadline.
 */
export const tls = (
  { certificate_authorities, client_certificate }: TlsSettings,
  limitMs = 0
): buildConnector.connector =>
  buildConnector({
    allowH2: false,
    rejectUnauthorized: true,
    timeout: limitMs,
    ...(certificate_authorities !== undefined && { ca: [...certificate_authorities] }),
    ...(client_certificate !== undefined && {
      cert: client_certificate.certificate,
      key: client_certificate.key,
      ...(client_certificate.passphrase !== undefined && { passphrase: client_certificate.passphrase })
    })
  })

/** How connections are opened. */
export interface Settings extends TlsSettings {
  readonly connect: Connect
  /** Whether data may be sent to an address. Called with the remote address of the connected socket. */
  readonly isAllowed: (address: string) => boolean
}

/**
 * Creates a connector for undici that always dials this address, even if the host name now resolves to a different one.
 *
 * It calls `onOpen` immediately with the TCP socket. It calls `ready` with the socket that HTTP uses, after the TLS
 * handshake and before the first byte.
 */
export type Dial = (
  address: string,
  onOpen: (socket: Socket) => void,
  ready: (socket: Socket) => void
) => buildConnector.connector

/** Creates connectors that check the remote address of the connected socket before they write a byte. */
export const make = ({ isAllowed, ...settings }: Settings): Dial => {
  const secure = tls(settings)
  return (address, onOpen, ready) => (options, callback) => {
    const isSecure = options.protocol === "https:"
    const socket = settings.connect(address, Number(options.port) || (isSecure ? 443 : 80))
    onOpen(socket)
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
      if (socket.remoteAddress === undefined || !isAllowed(socket.remoteAddress)) return fail("refused_address")
      if (!isSecure) {
        isOver = true
        ready(socket)
        return callback(null, socket)
      }
      secure({ ...options, httpSocket: socket }, (error, secured) => {
        if (error !== null) return fail("tls_failed", error)
        if (isOver) return void secured.destroy()
        isOver = true
        ready(secured)
        callback(null, secured)
      })
    })
  }
}
