import * as Http from "node:http"
import { type AddressInfo, Server as Listener, Socket } from "node:net"
import type { Duplex } from "node:stream"
import { ApiError } from "@quotewire/core"
import { Data, Deferred, Effect, Predicate, type Scope } from "effect"
import * as Body from "../host/Body.ts"
import * as BrokenRequest from "./BrokenRequest.ts"
import type { Handler } from "./Handler.ts"
import * as RequestBody from "./RequestBody.ts"

/** How the host listens and stops. */
export interface Settings {
  /** The address to listen on; the loopback address by default. */
  readonly host?: string
  /** The port to listen on; 0 for any free port. */
  readonly port: number
  /** Returns pending long polls when the host stops. */
  readonly wake?: Effect.Effect<void>
  /** How long running requests may take to finish when the host stops, in milliseconds; 8,000 by default. */
  readonly grace_ms?: number
  /**
   * How long connections that are open when the host stops may still send a request, in milliseconds. It is answered, and
   * the connection ends with the answer. 1,000 by default.
   */
  readonly drain_ms?: number
  /** How long a request may take to arrive, in milliseconds; 30,000 by default. */
  readonly request_timeout_ms?: number
  /**
   * The most connections at once; 10,000 by default. Further ones are closed without an answer. Idle connections are closed
   * after 75 seconds.
   */
  readonly connections?: number
}

/** A server that is bound to its address. */
export interface Server {
  readonly host: string
  readonly port: number
  /** The bound address, as callers on this machine write it. */
  readonly url: string
  /** Lets a handler answer requests until the scope closes. Then the server stops. */
  readonly attach: (handler: Handler) => Effect.Effect<void, never, Scope.Scope>
}

/** The host cannot listen on the given address. */
export class CannotListen extends Data.TaggedError("CannotListen")<{ readonly message: string }> {}

/** Why a server cannot listen. The message does not repeat the given host. */
const refusalOf = (port: number, error: Error): CannotListen => {
  const code = Predicate.hasProperty(error, "code") ? String(error.code) : error.name
  const reason = reasons[code] ?? "the system refuses it"
  return new CannotListen({ message: `Cannot listen on port ${port}: ${reason} (${code}).` })
}

const reasons: { readonly [code: string]: string } = {
  EADDRINUSE: "the port is in use",
  EACCES: "permission denied",
  EADDRNOTAVAIL: "the host is not an address of this machine",
  ENOTFOUND: "the host name does not exist",
  EAI_AGAIN: "the host name cannot be looked up now"
}

/** Binds a server to its address until the scope closes. It answers nothing until a handler is attached. */
export const listen = (settings: Settings): Effect.Effect<Server, CannotListen, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.mapError(bind(settings), (error) => refusalOf(settings.port, error)),
      ({ server }) => Effect.sync(() => unbind(server))
    ),
    ({ server, bound }) => {
      const name = bound.family === "IPv6" ? `[${bound.address}]` : bound.address
      return {
        host: bound.address,
        port: bound.port,
        url: `http://${name}:${bound.port}`,
        attach: (handler) => attach(server, settings, handler)
      }
    }
  )

const bind = (settings: Settings) =>
  Effect.callback<{ readonly server: Http.Server; readonly bound: AddressInfo }, Error>((resume) => {
    const request_timeout_ms = settings.request_timeout_ms ?? 30_000
    const server = Http.createServer({
      requestTimeout: request_timeout_ms,
      headersTimeout: Math.min(request_timeout_ms, 15_000),
      connectionsCheckingInterval: 1_000,
      // A request without a Host header is handled like any other, because Node's own refusal has no envelope.
      requireHostHeader: false,
      // Longer than load balancers keep idle connections, so that they are the ones to close.
      keepAliveTimeout: 75_000
    })
    // In a cluster, a connection above the limit would otherwise be handed from process to process without end.
    Object.assign(server, { maxConnections: settings.connections ?? 10_000, dropMaxConnection: true })
    const onError = (error: Error) => resume(Effect.fail(error))
    server.once("error", onError)
    server.listen(settings.port, settings.host ?? "127.0.0.1", () => {
      server.off("error", onError)
      const bound = server.address()
      if (bound === null || typeof bound === "string") return resume(Effect.die("The server is bound to no port"))
      resume(Effect.succeed({ server, bound }))
    })
  })

/** Frees the port at once. Does nothing if the server has stopped. */
const unbind = (server: Http.Server): void => {
  server.close()
  server.closeAllConnections()
}

const attach = (server: Http.Server, settings: Settings, handler: Handler) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      server.on("request", handler.handle)
      server.on("checkExpectation", handler.handle)
      server.on("connect", (_request: Http.IncomingMessage, socket: Duplex) =>
        BrokenRequest.refuse(handler.refusal(ApiError.make("not_found")), socket)
      )
      const newest = newestAnswers(server)
      server.on("checkContinue", (request: Http.IncomingMessage, response: Http.ServerResponse) => {
        // A caller that asks first is told before it sends too much.
        if (RequestBody.announcedBytes(request) <= Body.max_bytes) response.writeContinue()
        handler.handle(request, response)
      })
      server.on("clientError", (error: Error, socket) => {
        const refuse = () => {
          // The request was answered already. A second answer would be taken for that of the next request.
          if (isAnsweredEarly(newest.get(socket))) socket.destroy()
          else BrokenRequest.answer(error, socket, handler.refusal)
        }
        // Wait for earlier answers. Otherwise the refusal would be taken for one of them.
        if (socket instanceof Socket) handler.whenAnswered(socket, refuse)
        else refuse()
      })
    }),
    () => stop(server, handler, settings)
  )

/** The answer to the newest request of each connection. */
const newestAnswers = (server: Http.Server): WeakMap<Duplex, Http.ServerResponse> => {
  const answers = new WeakMap<Duplex, Http.ServerResponse>()
  server.on("request", (request: Http.IncomingMessage, response: Http.ServerResponse) => {
    answers.set(request.socket, response)
  })
  return answers
}

/** Whether a request was answered before it had fully arrived. */
const isAnsweredEarly = (answer: Http.ServerResponse | undefined): boolean =>
  answer?.writableFinished === true && !answer.req.complete

/** How long connections may take to end after the last answer, in milliseconds. */
const last_writes_ms = 1_000

const stop = Effect.fnUntraced(function* (server: Http.Server, handler: Handler, settings: Settings) {
  const closed = yield* Deferred.make<void>()
  yield* handler.close
  yield* stopListening(server, () => Deferred.doneUnsafe(closed, Effect.void))
  const finish = Effect.gen(function* () {
    yield* settings.wake ?? Effect.void
    yield* within(settings.drain_ms ?? 1_000, Deferred.await(closed))
    yield* handler.idle
  })
  yield* within(settings.grace_ms ?? 8_000, finish)
  yield* handler.interruptAll
  server.closeIdleConnections()
  yield* within(last_writes_ms, Deferred.await(closed))
  server.closeAllConnections()
})

/**
 * Accepts no new connections, and keeps the existing ones, also idle ones: a request may be on its way, and would fail if its
 * connection were closed.
 */
const stopListening = (server: Http.Server, closed: () => void): Effect.Effect<void> =>
  Effect.callback((resume) => {
    // After this turn of the event loop, so that connections that have arrived in it are accepted.
    setImmediate(() => {
      // Closing the HTTP server would also end idle connections.
      Listener.prototype.close.call(server, closed)
      resume(Effect.void)
    })
  })

/** Waits for an effect, up to a limit. Interruptible, although it runs in a finalizer. */
const within = (limit_ms: number, effect: Effect.Effect<void>) =>
  Effect.timeoutOption(Effect.interruptible(effect), limit_ms)
