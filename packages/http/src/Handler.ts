import type { IncomingMessage, ServerResponse } from "node:http"
import { ApiError, Ids } from "@quotewire/core"
import { Cause, Context, Effect, Exit, FiberSet, Option, References, type Scope, Tracer } from "effect"
import * as Answer from "./Answer.ts"
import * as Body from "./Body.ts"
import * as Cors from "./Cors.ts"
import * as Paths from "./Paths.ts"
import type { Incoming, Route } from "./Route.ts"
import { send } from "./Send.ts"

/** What a handler needs to know beyond its routes. */
export interface Settings {
  /** Where the documentation stands, without a slash at the end: `doc_url` of every refusal begins with it. */
  readonly docs_url: string
  /** Origins whose pages may call what a widget key can call. */
  readonly cors_origins?: ReadonlyArray<string>
  /** The caller's address, for limits; the other side of the connection where this is left out. */
  readonly address?: (request: IncomingMessage) => string
}

/** Answers the requests of a `node:http` server. */
export interface Handler {
  /**
   * Answers one request.
   *
   * Where `next` is given, as Express does, a path that the handler does not know is left to it.
   */
  readonly handle: (request: IncomingMessage, response: ServerResponse, next?: () => void) => void
  /** From now on every answer ends its connection. */
  readonly close: Effect.Effect<void>
  /** Waits until every request that was taken has been answered. */
  readonly idle: Effect.Effect<void>
  /** Breaks off what still runs; it is answered with `service_unavailable`. */
  readonly breakOff: Effect.Effect<void>
}

/** A handler whose requests run in this scope and with these services. */
export const make = Effect.fnUntraced(function* <R>(
  routes: ReadonlyArray<Route<R>>,
  settings: Settings
): Effect.fn.Return<Handler, never, R | Ids.Ids | Scope.Scope> {
  const context = yield* Effect.context<R | Ids.Ids>()
  const fibers = yield* FiberSet.make<Answer.Answer, ApiError.ApiError>()
  return unsafeMake(routes, settings, context, fibers)
})

type Running = FiberSet.FiberSet<Answer.Answer, ApiError.ApiError>

const unsafeMake = <R>(
  routes: ReadonlyArray<Route<R>>,
  settings: Settings,
  context: Context.Context<R | Ids.Ids>,
  running: Running
): Handler => {
  const ids = Context.get(context, Ids.Ids)
  const paths = Paths.make(routes.map((route) => ({ method: route.method, path: route.path, value: route })))
  const cors = Cors.make(settings.cors_origins ?? [], paths)
  const addressOf = settings.address ?? remoteAddress
  const fork = Effect.runForkWith(quiet(context))
  let isClosing = false

  const handle: Handler["handle"] = (request, response, next) => {
    const { path, query } = targetOf(request.url ?? "/")
    const preflight = cors.preflight(request, path)
    const match = preflight === null ? paths.find(request.method === "HEAD" ? "GET" : (request.method ?? ""), path) : null
    if (match === null && preflight === null && next !== undefined) return next()

    const request_id = ids.request()
    const extra = cors.headers(request, match?.value.cors ?? false)
    const answer = (it: Answer.Answer) =>
      send(request, response, it, { "request-id": request_id, ...(isClosing ? closing : null), ...extra })
    const refuse = (error: ApiError.ApiError) => answer(Answer.refusal(error, request_id, settings.docs_url))
    if (preflight !== null) return answer(preflight)
    if (match === null) return refuse(ApiError.make("not_found"))

    const finish = (exit: Exit.Exit<Answer.Answer, ApiError.ApiError>): void => {
      if (response.destroyed) return
      if (Exit.isSuccess(exit)) return answer(exit.value)
      const error = refusalOf(exit.cause)
      if (error._tag === "internal_error") fork(logDefect(exit.cause, request_id))
      refuse(error)
    }
    const fiber = fork(match.value.handle(incomingOf(request, request_id, match.params, query, addressOf)))
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) return finish(exit)
    fiber.addObserver(finish)
    FiberSet.addUnsafe(running, fiber)
    // A caller that hangs up is forgotten at once.
    response.once("close", () => {
      if (!response.writableEnded) fiber.interruptUnsafe()
    })
  }

  return {
    handle,
    close: Effect.sync(() => {
      isClosing = true
    }),
    idle: FiberSet.awaitEmpty(running),
    breakOff: FiberSet.clear(running)
  }
}

const closing = { connection: "close" }

/** Without a tracer of the host's own, spans would be made and thrown away on every request. */
const quiet = <R>(context: Context.Context<R>): Context.Context<R> =>
  Context.get(context, Tracer.Tracer) === Tracer.nativeTracer
    ? Context.add(context, References.TracerEnabled, false)
    : context

const remoteAddress = (request: IncomingMessage): string => request.socket.remoteAddress ?? ""

/** Splits a request's target; one that names the whole address, as proxies send it, counts by its path. */
const targetOf = (url: string): { readonly path: string; readonly query: string } => {
  const target = url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?]*/i, "")
  const mark = target.indexOf("?")
  return mark < 0 ? { path: target, query: "" } : { path: target.slice(0, mark), query: target.slice(mark + 1) }
}

const incomingOf = (
  request: IncomingMessage,
  request_id: string,
  params: Readonly<Record<string, string>>,
  query: string,
  addressOf: (request: IncomingMessage) => string
): Incoming => ({
  request_id,
  params,
  query,
  headers: request.headers,
  address: addressOf(request),
  read: (max_bytes) => Body.read(request, max_bytes)
})

/** What a caller is told of a failure: the refusal, that the host is closing, or nothing of what went wrong inside. */
const refusalOf = (cause: Cause.Cause<ApiError.ApiError>): ApiError.ApiError => {
  const error = Cause.findErrorOption(cause)
  if (Option.isSome(error)) return error.value
  return Cause.hasInterruptsOnly(cause)
    ? ApiError.make("service_unavailable", { retry_after_seconds: 1 })
    : ApiError.make("internal_error")
}

const logDefect = (cause: Cause.Cause<unknown>, request_id: string) =>
  Effect.logError("A request has failed", cause).pipe(Effect.annotateLogs({ request_id }))
