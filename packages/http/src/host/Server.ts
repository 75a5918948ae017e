import * as Http from "node:http"
import { type AddressInfo, Server as Listener, Socket } from "node:net"
import type { Duplex } from "node:stream"
import { ApiError } from "@quotewire/core"
import { Data, Deferred, Effect, Predicate, type Scope } from "effect"
import * as Body from "./Body.ts"
import * as BrokenRequest from "./BrokenRequest.ts"
import type { Handler } from "./Handler.ts"

/** How the host listens and stops. */
export interface Settings {
  /** Address to listen at; the loopback address where it is left out. */
  readonly host?: string
  /** Port to listen at; 0 takes a free one. */
  readonly port: number
  /** Wakes the waiting reads when the host stops, so that they answer at once. */
  readonly wake?: Effect.Effect<void>
  /** Time in milliseconds to finish what runs when the host stops; 8,000 where it is left out. */
  readonly grace_ms?: number
  /**
   * Time in milliseconds in which a connection that is open when the host stops may still bring a request: it is
   * answered, and its connection ends with the answer; 1,000 where it is left out.
   */
  readonly drain_ms?: number
  /** Time in milliseconds within which a request must have arrived; 30,000 where it is left out. */
  readonly request_timeout_ms?: number
  /**
   * The most connections that callers may hold at once; one more is closed unanswered. 10,000 where it is left out. One
   * that is idle is closed after 75 seconds.
   */
  readonly connections?: number
}

/** A server that is bound to its address. */
export interface Server {
  readonly host: string
  readonly port: number
  /** The bound address as callers on this machine write it. */
  readonly url: string
  /** Lets a handler answer until the scope ends; then the server stops. */
  readonly attach: (handler: Handler) => Effect.Effect<void, never, Scope.Scope>
}

/** The host cannot listen at the address that it was given. */
export class CannotListen extends Data.TaggedError("CannotListen")<{ readonly message: string }> {}

/** Why a server cannot listen, without the host that it was given. */
const refusalOf = (port: number, error: Error): CannotListen => {
  const code = Predicate.hasProperty(error, "code") ? String(error.code) : error.name
  const reason = reasons[code] ?? "the system refuses it"
  return new CannotListen({ message: `Cannot listen at port ${port}: ${reason} (${code}).` })
}

const reasons: { readonly [code: string]: string } = {
  EADDRINUSE: "the port is in use",
  EACCES: "this program may not listen there",
  EADDRNOTAVAIL: "the host is no address of this machine",
  ENOTFOUND: "there is no host of this name",
  EAI_AGAIN: "the name of the host cannot be looked up now"
}

/** Binds a server to its address until the scope ends; it answers nothing before a handler is attached. */
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
      // A request without a host is answered like any other: Node's own refusal would have no envelope.
      requireHostHeader: false,
      // Longer than a load balancer keeps an idle connection: it must be the one that closes.
      keepAliveTimeout: 75_000
    })
    server.maxConnections = settings.connections ?? 10_000
    const onError = (error: Error) => resume(Effect.fail(error))
    server.once("error", onError)
    server.listen(settings.port, settings.host ?? "127.0.0.1", () => {
      server.off("error", onError)
      const bound = server.address()
      if (bound === null || typeof bound === "string") return resume(Effect.die("The server is bound to no port"))
      resume(Effect.succeed({ server, bound }))
    })
  })

/** Gives the port back at once; a server that has stopped has done so already. */
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
        // Who asks before sending too much is told so before sending it.
        if (Body.announcedBytes(request) <= Body.max_bytes) response.writeContinue()
        handler.handle(request, response)
      })
      server.on("clientError", (error: Error, socket) => {
        const refuse = () => {
          // Its request has its answer: a second one would be taken for that of the next request.
          if (isAnsweredEarly(newest.get(socket))) socket.destroy()
          else BrokenRequest.answer(error, socket, handler.refusal)
        }
        // Before that, a refusal would be taken for the answer to an earlier request.
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

/** Whether a request was answered before all of it was there. */
const isAnsweredEarly = (answer: Http.ServerResponse | undefined): boolean =>
  answer?.writableFinished === true && !answer.req.complete

/** How long the connections may take to end after the last answer, in milliseconds. */
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
  yield* handler.breakOff
  server.closeIdleConnections()
  yield* within(last_writes_ms, Deferred.await(closed))
  server.closeAllConnections()
})

/**
 * Takes no new connections, and leaves those that there are: a request may be on its way on any of them, also on one that
 * has been idle, and a connection that is closed under it is a failed request.
 */
const stopListening = (server: Http.Server, closed: () => void): Effect.Effect<void> =>
  Effect.callback((resume) => {
    // The turn of the process is over then: whoever has knocked was let in.
    setImmediate(() => {
      // The close of an HTTP server would end idle connections, too.
      Listener.prototype.close.call(server, closed)
      resume(Effect.void)
    })
  })

/** Waits for an effect, but not longer than this; a finalizer is uninterruptible unless it says otherwise. */
const within = (limit_ms: number, effect: Effect.Effect<void>) =>
  Effect.timeoutOption(Effect.interruptible(effect), limit_ms)
