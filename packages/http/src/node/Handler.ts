import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { ApiError } from "@quotewire/core"
import { Effect, Exit, Result, Schedule, type Scope } from "effect"
import type * as Answer from "../host/Answer.ts"
import * as Answering from "../host/Answering.ts"
import * as Body from "../host/Body.ts"
import * as Paths from "../host/Paths.ts"
import * as RequestInfo from "../host/RequestInfo.ts"
import type { Incoming, Route } from "../host/Route.ts"
import * as Backpressure from "./Backpressure.ts"
import * as NodeMessages from "./NodeMessages.ts"

export type { Answered } from "../host/Answering.ts"

/** Settings of a handler besides its routes. */
export interface Settings extends Answering.Settings, Backpressure.Limits, Body.Limits {
  /**
   * The path below which requests arrive, such as `/insurance`; by default the prefix that the framework has removed
   * from the URL.
   */
  readonly base_path?: string
  /** The path below which callers reach the host; by default the path below which the request arrived. */
  readonly public_path?: string
  /** The proxies that are trusted to report a caller's address; none by default. */
  readonly proxies?: RequestInfo.Proxies
  /** Returns a caller's address if the connection has no address, as on a Unix socket. */
  readonly address?: (request: IncomingMessage) => string | undefined
}

/** Responds to the requests of a `node:http` server. */
export interface Handler {
  /**
   * Responds to one request.
   *
   * If `next` is given, as in Express, the handler calls it for requests outside its mount path. A handler that is
   * mounted at the root of a site calls `next` for requests to unknown paths.
   */
  readonly handle: (request: IncomingMessage, response: ServerResponse, next?: () => void) => void
  /** Creates the response to a request that could not be parsed, with a new `request-id`. */
  readonly refusal: (error: ApiError.ApiError) => Answer.Answer
  /**
   * Runs an action as soon as every fully received request on this connection has its response. The action's argument
   * says whether the latest request was answered before it had fully arrived.
   */
  readonly whenAnswered: (socket: Socket, act: (isAnsweredEarly: boolean) => void) => void
  /** From now on, closes each connection after its next response. */
  readonly close: Effect.Effect<void>
  /** Refuses every new request with `service_unavailable`. Running requests finish. */
  readonly refuse: Effect.Effect<void>
  /** Waits until every accepted request has its response. */
  readonly idle: Effect.Effect<void>
  /**
   * Interrupts running requests and responds to them with `service_unavailable`. Waits only briefly for requests that
   * do not end.
   */
  readonly interruptAll: Effect.Effect<void>
}

/** Creates a handler whose requests run in the current scope, with the current services. */
export const make = Effect.fnUntraced(function* <R>(
  routes: ReadonlyArray<Route<R>>,
  settings: Settings
): Effect.fn.Return<Handler, never, Answering.Services<R> | Scope.Scope> {
  const answering = yield* Answering.make(routes, settings)
  const basePath = Result.mapError(
    Paths.readBasePath(settings.base_path ?? "/"),
    (message) => new Error(`base_path: ${message}`)
  )
  const locate = Paths.locate(yield* Effect.orDie(Effect.fromResult(basePath)))
  const { backpressure, handler } = makeUnsafe(answering, locate, settings)
  const sweep = Effect.sync(() => backpressure.sweep())
  yield* Effect.forkScoped(Effect.repeat(sweep, Schedule.spaced(backpressure.sweep_interval_ms)))
  return handler
})

/**
 * Waits for the end of this turn of the event loop. By then, all requests that arrived in this turn have begun, and
 * ready responses are written.
 */
const endOfTurn = Effect.callback<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

const makeUnsafe = <R>(answering: Answering.Answering<R>, locate: Paths.Locate, settings: Settings) => {
  let isClosing = false
  const sender = makeSender(answering, {
    isClosing: () => isClosing,
    offer: (pendingRequest, bytes) => backpressure.offer(pendingRequest, bytes)
  })
  const backpressure = new Backpressure.Backpressure(settings, beginning(answering, sender, settings))
  const handler: Handler = {
    handle: admitting(answering, locate, backpressure),
    whenAnswered: (socket, callback) => backpressure.whenAnswered(socket, callback),
    refusal: answering.refusal,
    close: Effect.sync(() => {
      isClosing = true
    }),
    refuse: answering.refuse,
    idle: Effect.andThen(Effect.andThen(endOfTurn, answering.idle), endOfTurn),
    interruptAll: Effect.andThen(answering.interruptAll, endOfTurn)
  }
  return { backpressure, handler }
}

/**
 * Creates the handler function: finds each request's route and admits the request. Passes requests that belong to the
 * surrounding program to `next`.
 */
const admitting =
  <R>(
    answering: Answering.Answering<R>,
    locate: Paths.Locate,
    backpressure: Backpressure.Backpressure<PendingRequest<R>>
  ): Handler["handle"] =>
  (request, response, next) => {
    const target = locate(request.url ?? "/", strippedOf(request)) ?? Paths.elsewhere
    const method = request.method ?? ""
    const route = answering.find(method, target.path)
    const isForeign =
      route === null
        ? target.mount_path === "" &&
          answering.preflight(method, target.path, RequestInfo.headerIn(request.headers)) === null
        : isRoot(target)
    if (isForeign && next !== undefined) return next()
    backpressure.admit(new PendingRequest(request, response, target, route ?? answering.notFound(target.path)))
  }

/** The connection tracking that a `Sender` uses. */
interface Connections<R> {
  readonly isClosing: () => boolean
  /** Records that the caller can now read data, and how many bytes were added. */
  readonly offer: (pending: PendingRequest<R>, bytes: number) => void
}

interface Sender<R> {
  readonly sendTo: (pending: PendingRequest<R>, exchange: Answering.HttpExchange, answer: Answer.Answer) => void
  /** Sends a route's response at the end of this turn of the event loop. */
  readonly finish: (finished: FinishedRequest<R>) => void
}

const makeSender = <R>(answering: Answering.Answering<R>, { isClosing, offer }: Connections<R>): Sender<R> => {
  const sendTo: Sender<R>["sendTo"] = (pendingRequest, exchange, answer) => {
    const { response } = pendingRequest
    const extra = isClosing()
      ? { "request-id": exchange.request_id, ...closing, ...exchange.headers }
      : exchange.headers
    const offered = (bytes: number) => offer(pendingRequest, bytes)
    try {
      if (answer.stream !== undefined) {
        const { end, write } = NodeMessages.begin(response, answer, extra, offered)
        pendingRequest.onHangUp = answering.stream(exchange, answer.stream, write, end)
        return
      }
      NodeMessages.send(pendingRequest, answer, extra, offered)
    } catch (defect) {
      // Node throws for invalid headers before it writes anything, so another response can still be sent.
      NodeMessages.send(pendingRequest, answering.answer(exchange, Exit.die(defect)), extra, offered)
    }
  }
  return {
    sendTo,
    finish: NodeMessages.atEndOfTurn(({ exchange, exit, pending }: FinishedRequest<R>): void => {
      if (NodeMessages.isOver(pending.response)) return
      const answer = answering.answer(exchange, exit)
      sendTo(pending, exchange, answer)
      answering.answered(exchange, answer.status)
    })
  }
}

/** Creates the function that begins an admitted request's exchange and runs its route. */
const beginning = <R>(answering: Answering.Answering<R>, { finish, sendTo }: Sender<R>, settings: Settings) => {
  const bodies = new Body.ArrivingBodies(settings)
  const countedAddress = RequestInfo.addressOf(settings.proxies ?? null)
  const { address: otherAddressOf = () => undefined } = settings

  /** The caller's address for rate limits. Only the function in the settings can throw. */
  const addressOf = (request: IncomingMessage, header: Incoming["header"]): string => {
    const { remoteAddress } = request.socket
    if (remoteAddress !== undefined) return countedAddress(remoteAddress, header)
    return answering.guarded("address", () => countedAddress(otherAddressOf(request) ?? "", header)) ?? ""
  }

  const run = (pendingRequest: PendingRequest<R>, exchange: Answering.HttpExchange, incoming: Incoming): void => {
    if (NodeMessages.isOver(pendingRequest.response)) return
    pendingRequest.onHangUp = answering.run(pendingRequest.found.value, incoming, (exit) =>
      finish({ pending: pendingRequest, exchange, exit })
    )
  }

  return (pendingRequest: PendingRequest<R>): void => {
    const { found, request, target } = pendingRequest
    const headers = NodeMessages.headersOf(request)
    const header = RequestInfo.headerIn(headers)
    const exchange = answering.begin(found.value, target.path, header)
    const preflight = answering.preflight(request.method ?? "", target.path, header)
    if (preflight !== null) return void sendTo(pendingRequest, exchange, preflight)
    const incoming = new IncomingRequest(request, bodies, {
      request_id: exchange.request_id,
      params: found.params,
      query: target.query,
      header,
      headers,
      docs_url: settings.docs_url,
      public_path: settings.public_path ?? target.mount_path,
      address: addressOf(request, header)
    })
    // A small body usually arrives together with the headers, so after one turn of the event loop reading the body does
    // not wait.
    if (NodeMessages.isAnnounced(request)) setImmediate(run, pendingRequest, exchange, incoming)
    else run(pendingRequest, exchange, incoming)
  }
}

/**
 * The part that a framework such as Express has removed from the beginning of the URL.
 *
 * It begins with exactly one slash, because a `Location` that begins with two would lead to a different host.
 */
export const strippedOf = (request: IncomingMessage): string =>
  "baseUrl" in request && typeof request.baseUrl === "string" ? request.baseUrl.replace(/^\/{2,}/, "/") : ""

/** Whether a request is for the root of the site. That page belongs to the surrounding program, not to this handler. */
export const isRoot = ({ mount_path, path }: Paths.Target): boolean => path === "/" && mount_path === ""

/** A request whose response is pending, and the route that it matched. */
class PendingRequest<R> extends Backpressure.PipelinedRequest {
  readonly target: Paths.Target
  readonly found: Answering.FoundRoute<R>

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    target: Paths.Target,
    route: Answering.FoundRoute<R>
  ) {
    super(request, response)
    this.target = target
    this.found = route
  }
}

/** A request whose response is ready to be sent. */
interface FinishedRequest<R> {
  readonly pending: PendingRequest<R>
  readonly exchange: Answering.HttpExchange
  readonly exit: Answering.AnswerExit
}

const closing = { connection: "close" }

/** The parts of a request that the handler derives. */
type DerivedParts = Omit<Incoming, "method" | "read" | "readRaw">

/** A request as a route receives it. A class, not an object literal, for V8's sake (see `PipelinedRequest`). */
class IncomingRequest implements Incoming {
  readonly request_id: Incoming["request_id"]
  readonly method: string
  readonly params: Incoming["params"]
  readonly query: string
  readonly header: Incoming["header"]
  readonly headers: Incoming["headers"]
  readonly address: string
  readonly docs_url: string
  readonly public_path: string
  readonly read: Incoming["read"]
  readonly readRaw: Incoming["readRaw"]

  constructor(request: IncomingMessage, bodies: Body.ArrivingBodies, derived: DerivedParts) {
    this.request_id = derived.request_id
    this.method = request.method ?? ""
    this.params = derived.params
    this.query = derived.query
    this.header = derived.header
    this.headers = derived.headers
    this.address = derived.address
    this.docs_url = derived.docs_url
    this.public_path = derived.public_path
    this.read = (maxBytes) => NodeMessages.read(request, maxBytes, bodies)
    this.readRaw = (maxBytes) => NodeMessages.readRaw(request, maxBytes, bodies)
  }
}
