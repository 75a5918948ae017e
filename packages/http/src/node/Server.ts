import * as Http from "node:http"
import { type AddressInfo, Socket } from "node:net"
import type { Duplex } from "node:stream"
import { ApiError } from "@quotewire/core"
import { Context, Data, Effect, Predicate, type Scope } from "effect"
import * as Body from "../host/Body.ts"
import * as BrokenRequest from "./BrokenRequest.ts"
import type { Handler } from "./Handler.ts"
import * as NodeMessages from "./NodeMessages.ts"
import * as OpenConnections from "./OpenConnections.ts"
import * as Slices from "./Slices.ts"
import { stopAccepting } from "./stopAccepting.ts"

/** How the host listens and stops. */
export interface Settings {
  /** The address to listen on; the loopback address by default. */
  readonly host?: string
  /** The port to listen on; 0 for any free port. */
  readonly port: number
  /** Makes pending long polls return when the host stops. */
  readonly wake?: Effect.Effect<void>
  /** How long running requests may take to finish when the host stops, in milliseconds; 8,000 by default. */
  readonly grace_ms?: number
  /**
   * How long connections that are open when the host stops may still send a request, in milliseconds. The request is
   * answered, and its connection is closed after the response. 1,000 by default.
   */
  readonly drain_ms?: number
  /** How long a request may take to arrive, in milliseconds; 30,000 by default. */
  readonly request_timeout_ms?: number
  /**
   * The maximum number of open connections; 10,000 by default. Above it, new connections are closed without a response.
   * Idle connections are closed after 75 seconds.
   */
  readonly connections?: number
  /**
   * Receives connections that another process accepts, instead of listening on `host` and `port`. By default this
   * process listens itself.
   */
  readonly receiver?: Receiver
}

/** Receives connections that another process accepted. */
export interface Receiver {
  readonly bound: Bound
  /** Calls a function with each connection. Returns a function that stops the calls. */
  readonly receive: (accept: (socket: Socket) => void) => () => void
}

/** The address that a server is bound to. */
export type Bound = Pick<AddressInfo, "address" | "family" | "port">

/** A server that is bound to its address. */
export interface Server {
  readonly host: string
  readonly port: number
  /** The server's URL, with its bound address, as callers on this machine write it. */
  readonly url: string
  /** Makes a handler respond to the requests. When the scope closes, the server stops. */
  readonly attach: (handler: Handler) => Effect.Effect<void, never, Scope.Scope>
}

/** The listening host, with its bound address. */
export class Host extends Context.Service<
  Host,
  { readonly host: string; readonly port: number; readonly base_url: string }
>()("@quotewire/http/Host") {}

/** The host cannot listen on the configured address. */
export class CannotListen extends Data.TaggedError("CannotListen")<{
  readonly message: string
  readonly port: number
  /** The system's error code, such as `EADDRINUSE`. */
  readonly code: string
}> {
  /** Creates the error with the reason why a server cannot listen. The message does not repeat the configured host. */
  static of(port: number, error: Error): CannotListen {
    const code = Predicate.hasProperty(error, "code") ? String(error.code) : error.name
    const reason = reasons[code] ?? "the operating system refused"
    return new CannotListen({ port, code, message: `Cannot listen on port ${port}: ${reason} (${code}).` })
  }
}

const reasons: { readonly [code: string]: string } = {
  EADDRINUSE: "the port is in use",
  EACCES: "this user may not use the port",
  EADDRNOTAVAIL: "the host is not an address on this machine",
  ENOTFOUND: "the host name does not exist",
  EAI_AGAIN: "the host name cannot be resolved right now"
}

/** Binds a server to its address until the scope closes. The server serves nothing until a handler is attached. */
export const listen = (settings: Settings): Effect.Effect<Server, CannotListen, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.mapError(
        Effect.suspend(() => (settings.receiver === undefined ? bind(settings) : receive(settings, settings.receiver))),
        (error) => CannotListen.of(settings.port, error)
      ),
      ({ server }) => Effect.sync(() => unbind(server))
    ),
    (listening) => {
      const { address, family, port } = listening.bound
      const name = family === "IPv6" ? `[${address}]` : address
      return {
        host: address,
        port,
        url: `http://${name}:${port}`,
        attach: (handler) => attach(listening, settings, handler)
      }
    }
  )

/** A server that accepts connections. */
interface ListeningServer {
  readonly server: Http.Server
  readonly bound: Bound
  readonly open: OpenConnections.OpenConnections
  /** Stops accepting connections. */
  readonly end: Effect.Effect<void>
}

const make = (settings: Settings) => {
  const requestTimeoutMs = settings.request_timeout_ms ?? 30_000
  const server = Http.createServer({
    requestTimeout: requestTimeoutMs,
    headersTimeout: Math.min(requestTimeoutMs, 15_000),
    connectionsCheckingInterval: 1_000,
    // A request without a Host header is handled like any other, because Node's own refusal has no error envelope.
    requireHostHeader: false,
    // Most requests are reads. They have no body, so Node need not create, end and close a stream for each.
    optimizeEmptyRequests: true,
    // Keeps idle connections longer than load balancers do, so that the load balancers are the first to close them.
    keepAliveTimeout: 75_000
  })
  Slices.readInSlicesIfNeeded(server)
  return { server, open: new OpenConnections.OpenConnections(server) }
}

const maxConnectionsOf = ({ connections = 10_000 }: Settings): number => connections

const bind = (settings: Settings) =>
  Effect.callback<ListeningServer, Error>((resume) => {
    const { open, server } = make(settings)
    server.maxConnections = maxConnectionsOf(settings)
    const onError = (error: Error) => resume(Effect.fail(error))
    server.once("error", onError)
    server.listen(settings.port, settings.host ?? "127.0.0.1", () => {
      server.off("error", onError)
      const bound = server.address()
      if (bound === null || typeof bound === "string") return resume(Effect.die(new Error("The server has no port")))
      resume(Effect.succeed({ server, bound, open, end: stopAccepting(server) }))
    })
  })

const receive = (settings: Settings, receiver: Receiver) =>
  Effect.sync((): ListeningServer => {
    const { open, server } = make(settings)
    // Without this event, Node does not enforce the time limit for the arrival of requests.
    server.emit("listening")
    const end = Effect.sync(
      receiver.receive((socket) => {
        if (open.count < maxConnectionsOf(settings)) server.emit("connection", socket)
        else socket.destroy()
      })
    )
    return { server, bound: receiver.bound, open, end }
  })

/** Frees the port immediately. Does nothing if the server has already stopped. */
const unbind = (server: Http.Server): void => {
  server.close()
  server.closeAllConnections()
}

const attach = (listening: ListeningServer, settings: Settings, handler: Handler) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const { server } = listening
      server.on("request", handler.handle)
      server.on("checkExpectation", handler.handle)
      server.on("connect", (_request: Http.IncomingMessage, socket: Duplex) =>
        BrokenRequest.refuse(handler.refusal(ApiError.make("not_found")), socket)
      )
      server.on("checkContinue", (request: Http.IncomingMessage, response: Http.ServerResponse) => {
        // With `Expect: 100-continue`, a caller whose body is too large gets the refusal before it sends the body.
        if (NodeMessages.announcedBytes(request) <= Body.maxBytes) response.writeContinue()
        handler.handle(request, response)
      })
      server.on("clientError", (error: Error, socket) => {
        if (!(socket instanceof Socket)) return BrokenRequest.answer(error, socket, handler.refusal)
        // Waits for earlier responses. Otherwise the caller would mistake this refusal for one of them.
        handler.whenAnswered(socket, (isAnsweredEarly) => {
          // The request already has its response. The caller would mistake a second response for the response to its
          // next request.
          if (isAnsweredEarly) socket.destroy()
          else BrokenRequest.answer(error, socket, handler.refusal)
        })
      })
    }),
    () => stop(listening, handler, settings)
  )

/** How long connections may take to close after the last response, in milliseconds. */
const lastWritesMs = 1_000

const stop = Effect.fnUntraced(function* (
  { end, open, server }: ListeningServer,
  handler: Handler,
  settings: Settings
) {
  yield* handler.close
  // Closes no open connections, not even idle ones: a request may already be on its way, and would fail.
  yield* end
  const finish = Effect.gen(function* () {
    yield* settings.wake ?? Effect.void
    yield* within(settings.drain_ms ?? 1_000, open.none)
    yield* handler.idle
  })
  yield* within(settings.grace_ms ?? 8_000, finish)
  yield* handler.interruptAll
  server.closeIdleConnections()
  yield* within(lastWritesMs, open.none)
  server.close()
  server.closeAllConnections()
})

/** Waits for an effect, but not longer than a limit. The effect can be interrupted even in a finalizer. */
const within = (limitMs: number, effect: Effect.Effect<void>) =>
  Effect.timeoutOption(Effect.interruptible(effect), limitMs)
