import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { performance } from "node:perf_hooks"
import { ApiError, Ids, type Pipeline, Revision } from "@quotewire/core"
import { Cause, Context, Effect, Exit, Fiber, FiberSet, Option, References, Schedule, Scope, Tracer } from "effect"
import * as Answer from "./Answer.ts"
import * as Backpressure from "./Backpressure.ts"
import * as Body from "./Body.ts"
import * as Cors from "./Cors.ts"
import { atEndOfTurn } from "./EndOfTurn.ts"
import * as NotFound from "./NotFound.ts"
import * as Paths from "./Paths.ts"
import * as RequestInfo from "./RequestInfo.ts"
import type { Incoming, Route } from "./Route.ts"

/** Settings of a handler besides its routes. */
export interface Settings extends Backpressure.Limits {
  /** The address of the documentation, without a trailing slash: the base of every `doc_url`. */
  readonly docs_url: string
  /** The origins whose web pages may call what a widget key can call, such as `https://shop.example`. */
  readonly cors_origins?: ReadonlyArray<string>
  /** The proxies that are trusted to tell a caller's address; none by default. */
  readonly proxies?: RequestInfo.Proxies
  /** Called after every answer. It must neither throw nor block. If it throws, that is logged. */
  readonly onAnswered?: (answered: Answered) => void
}

/** An answered request, for metrics. */
export interface Answered {
  /** The route's name; `*` if no path matched. */
  readonly name: string
  readonly status: number
  readonly duration_ms: number
}

/** Answers the requests of a `node:http` server. */
export interface Handler {
  /**
   * Answers one request.
   *
   * With `next`, as in Express, requests to unknown paths are passed on to it.
   */
  readonly handle: (request: IncomingMessage, response: ServerResponse, next?: () => void) => void
  /** The answer to a request that could not be parsed, with an identifier as `request-id`. */
  readonly refusal: (error: ApiError.ApiError) => Answer.Answer
  /** Runs an action when every request that has fully arrived on this connection was answered. */
  readonly whenAnswered: (socket: Socket, act: () => void) => void
  /** From now on every answer ends its connection. */
  readonly close: Effect.Effect<void>
  /** Waits until every accepted request was answered. */
  readonly idle: Effect.Effect<void>
  /** Interrupts running requests and answers them with `service_unavailable`. Does not wait long for those that do not end. */
  readonly interruptAll: Effect.Effect<void>
}

/** The services of the routes, and those that log requests without a route. */
type Services<R> = R | Pipeline.PipelineServices | Ids.Ids

/** Makes a handler whose requests run in this scope with these services. */
export const make = Effect.fnUntraced(function* <R>(
  routes: ReadonlyArray<Route<R>>,
  settings: Settings
): Effect.fn.Return<Handler, never, Services<R> | Scope.Scope> {
  const context = yield* Effect.context<Services<R>>()
  // Closing the scope waits no longer for interrupted requests than `breakOff` does.
  const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => waitBriefly(Scope.close(scope, Exit.void)))
  const fibers = yield* Scope.provide(FiberSet.make<Answer.Answer, ApiError.ApiError>(), scope)
  const [newest] = yield* Revision.ServedRevisions
  const backpressure = new Backpressure.Backpressure(settings)
  const sweep = Effect.sync(() => backpressure.sweep())
  yield* Effect.forkScoped(Effect.repeat(sweep, Schedule.spaced(backpressure.sweep_interval_ms)))
  return makeUnsafe(routes, { ...settings, revision: newest.date }, context, fibers, backpressure)
})

/** The end of this turn of the event loop: by then its requests have begun and its ready answers are written. */
const endOfTurn = Effect.callback<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

/** How long interrupted requests may take to end, in milliseconds. */
const last_calls_ms = 250

/** Runs an effect and waits briefly for its end. If it cannot be interrupted, it continues on its own. */
const waitBriefly = (effect: Effect.Effect<void>): Effect.Effect<void> =>
  Effect.flatMap(Effect.forkDetach(effect), (fiber) =>
    Effect.asVoid(Effect.timeoutOption(Effect.interruptible(Fiber.await(fiber)), last_calls_ms))
  )

type Running = FiberSet.FiberSet<Answer.Answer, ApiError.ApiError>

const makeUnsafe = <R>(
  routes: ReadonlyArray<Route<R>>,
  settings: Settings & Answer.Refusals,
  context: Context.Context<Services<R>>,
  running: Running,
  backpressure: Backpressure.Backpressure
): Handler => {
  const ids = Context.get(context, Ids.Ids)
  const paths = Paths.make(routes.map((route) => ({ method: route.method, path: route.path, value: route })))
  const cors = Cors.make(settings.cors_origins ?? [], paths)
  const addressOf = RequestInfo.addressOf(settings.proxies ?? null)
  const { onAnswered } = settings
  const fork = Effect.runForkWith(quiet(context))
  const handled = handledIn(context)
  let isClosing = false

  const refused = (exchange: Exchange, error: ApiError.ApiError): Answer.Answer =>
    Answer.refusal(error, exchange.request_id, settings)

  /** The answer to a failure: its refusal, that the host is closing, or `internal_error` without details. */
  const failed = (exchange: Exchange, cause: Cause.Cause<ApiError.ApiError>): Answer.Answer => {
    const error = Cause.findErrorOption(cause)
    if (Option.isSome(error)) return refused(exchange, error.value)
    if (Cause.hasInterruptsOnly(cause)) return refused(exchange, closingDown)
    fork(logDefect(cause, exchange.request_id))
    return refused(exchange, ApiError.make("internal_error"))
  }

  const sendTo = (exchange: Exchange, answer: Answer.Answer): void => {
    const { headers, pipelined, request_id } = exchange
    const { request, response } = pipelined
    const extra = { "request-id": request_id, ...(isClosing ? closing : null), ...headers }
    const offer = (bytes: number) => backpressure.offer(pipelined, bytes)
    try {
      Answer.send(request, response, answer, extra, offer)
    } catch (defect) {
      // Node refuses invalid headers before it has written anything.
      Answer.send(request, response, failed(exchange, Cause.die(defect)), extra, offer)
    }
  }

  const finish = atEndOfTurn(({ exchange, exit }: Finished): void => {
    const { response } = exchange.pipelined
    // A middleware around the handler, such as one with a time-out, may have answered already.
    if (response.destroyed || response.headersSent) return
    const answer = Exit.isSuccess(exit) ? exit.value : failed(exchange, exit.cause)
    sendTo(exchange, answer)
    tell(onAnswered, answeredOf(exchange, answer.status), fork)
  })

  const run = (exchange: Exchange, route: Pick<Route<Services<R>>, "name" | "handle">, incoming: Incoming): void => {
    if (exchange.pipelined.response.destroyed) return
    const fiber = fork(handled(route, incoming))
    fiber.addObserver((exit) => finish({ exchange, exit }))
    if (fiber.pollUnsafe() !== undefined) return
    FiberSet.addUnsafe(running, fiber)
    exchange.pipelined.onHangUp = () => fiber.interruptUnsafe()
  }

  const answer = (
    pipelined: Backpressure.PipelinedRequest,
    { path, query }: Target,
    { params, value: route }: Found<Services<R>>
  ): void => {
    const { request } = pipelined
    const request_id = ids.request()
    // An answer in an older revision sets this header itself (api.md, Versioning 2).
    const version = path.startsWith("/v1/") ? { "service-version": settings.revision } : null
    const headers = { ...version, ...cors.headers(request, route.cors) }
    const began_ms = onAnswered === undefined ? 0 : performance.now()
    const exchange = new Exchange(pipelined, request_id, headers, route.name, began_ms)
    const preflight = cors.preflight(request, path)
    if (preflight !== null) return void sendTo(exchange, preflight)
    const { docs_url } = settings
    const incoming = new IncomingRequest(request, { request_id, params, query, docs_url, address: addressOf(request) })
    // A small body arrives with its headers. After one turn it is there, so nobody has to wait for it.
    if (Body.isAnnounced(request)) setImmediate(run, exchange, route, incoming)
    else run(exchange, route, incoming)
  }

  const handle: Handler["handle"] = (request, response, next) => {
    const target = targetOf(request.url ?? "/")
    const found = paths.find(request.method === "HEAD" ? "GET" : (request.method ?? ""), target.path)
    if (found === null && next !== undefined && cors.preflight(request, target.path) === null) return next()
    const match = found ?? NotFound.match(paths, target.path)
    backpressure.admit(request, response, (pipelined) => answer(pipelined, target, match))
  }

  return {
    handle,
    whenAnswered: (socket, act) => backpressure.whenAnswered(socket, act),
    refusal: (error) => {
      const request_id = ids.request()
      const answer = Answer.refusal(error, request_id, settings)
      return { ...answer, headers: { ...answer.headers, "request-id": request_id } }
    },
    close: Effect.sync(() => {
      isClosing = true
    }),
    idle: Effect.andThen(Effect.andThen(endOfTurn, FiberSet.awaitEmpty(running)), endOfTurn),
    interruptAll: Effect.andThen(waitBriefly(FiberSet.clear(running)), endOfTurn)
  }
}

/** One request and its pending answer. A class for the same reason as `PipelinedRequest`. */
class Exchange {
  readonly pipelined: Backpressure.PipelinedRequest
  readonly request_id: Ids.RequestId
  /** Headers of its answer, whoever gives it. */
  readonly headers: Readonly<Record<string, string>>
  readonly name: string
  /** When it arrived, on the clock of `performance`; 0 if it is not measured. */
  readonly began_ms: number

  constructor(
    pipelined: Backpressure.PipelinedRequest,
    request_id: Ids.RequestId,
    headers: Exchange["headers"],
    name: string,
    began_ms: number
  ) {
    this.pipelined = pipelined
    this.request_id = request_id
    this.headers = headers
    this.name = name
    this.began_ms = began_ms
  }
}

/** An exchange whose answer is ready to be sent. */
interface Finished {
  readonly exchange: Exchange
  readonly exit: Exit.Exit<Answer.Answer, ApiError.ApiError>
}

/** Calls `onAnswered`. If it throws, that is logged, so that it cannot break other answers. */
const tell = (
  onAnswered: Settings["onAnswered"],
  answered: Answered,
  fork: (log: Effect.Effect<void>) => unknown
): void => {
  try {
    onAnswered?.(answered)
  } catch (defect) {
    fork(Effect.logWarning("onAnswered has failed", Cause.die(defect)))
  }
}

const answeredOf = ({ name, began_ms }: Exchange, status: number): Answered => ({
  name,
  status,
  duration_ms: performance.now() - began_ms
})

const closing = { connection: "close" }

/** Whether the host has its own tracer. */
const isTraced = (context: Context.Context<never>): boolean =>
  Context.get(context, Tracer.Tracer) !== Tracer.nativeTracer

/** Disables tracing if the host has no tracer, because spans would be made and discarded for every request. */
const quiet = <R>(context: Context.Context<R>): Context.Context<R> =>
  isTraced(context) ? context : Context.add(context, References.TracerEnabled, false)

/** Runs a route. With a tracer, its span names the request but holds nothing that was sent. */
const handledIn = <R>(context: Context.Context<R>) => {
  const handle = (route: Pick<Route<R>, "name" | "handle">, incoming: Incoming) =>
    Effect.suspend(() => route.handle(incoming))
  if (!isTraced(context)) return handle
  return (route: Pick<Route<R>, "name" | "handle">, incoming: Incoming) => {
    const { method, request_id } = incoming
    const attributes = { "http.request.method": method, request_id }
    return Effect.withSpan(handle(route, incoming), route.name, { kind: "server", attributes })
  }
}

/** The parts of a request that the handler has worked out. */
type Known = Pick<Incoming, "request_id" | "params" | "query" | "docs_url" | "address">

/** A request as its route receives it. A class for the same reason as `PipelinedRequest`. */
class IncomingRequest implements Incoming {
  readonly request_id: Ids.RequestId
  readonly method: string
  readonly params: Incoming["params"]
  readonly query: string
  readonly headers: Incoming["headers"]
  readonly address: string
  readonly docs_url: string
  readonly read: Incoming["read"]
  readonly readRaw: Incoming["readRaw"]

  constructor(request: IncomingMessage, { request_id, params, query, docs_url, address }: Known) {
    this.request_id = request_id
    this.method = request.method ?? ""
    this.params = params
    this.query = query
    this.headers = RequestInfo.headersOf(request)
    this.address = address
    this.docs_url = docs_url
    this.read = (max_bytes) => Body.read(request, max_bytes)
    this.readRaw = (max_bytes) => Body.readRaw(request, max_bytes)
  }
}

/** The target of a request. */
interface Target {
  readonly path: string
  /** The text after the `?`, still encoded. */
  readonly query: string
}

/** The matched route, with the parameters of its path. */
type Found<R> = Paths.Match<Pick<Route<R>, "name" | "cors" | "handle">>

/** Splits a request's target. Of a full address, as proxies send it, only path and query count. */
const targetOf = (url: string): Target => {
  const target = url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?]*/i, "")
  const mark = target.indexOf("?")
  return mark < 0 ? { path: target, query: "" } : { path: target.slice(0, mark), query: target.slice(mark + 1) }
}

const closingDown = ApiError.make("service_unavailable", { retry_after_seconds: 1 })

const logDefect = (cause: Cause.Cause<unknown>, request_id: string) =>
  Effect.logError("A request has failed", cause).pipe(Effect.annotateLogs({ request_id }))
