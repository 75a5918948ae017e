import { ApiError, Ids, type Pipeline, Revision } from "@quotewire/core"
import { Cause, Context, Effect, Exit, Fiber, FiberSet, Option, Predicate, References, Scope, Tracer } from "effect"
import * as Answer from "./Answer.ts"
import * as Cors from "./Cors.ts"
import * as NotFound from "./NotFound.ts"
import * as Paths from "./Paths.ts"
import type { Header, Incoming, Route } from "./Route.ts"

/*
 * What every handler does with a request, regardless of its platform: finds the route, runs it, and responds to every
 * failure.
 */

/** Settings of a handler besides its routes. */
export interface Settings {
  /** The address of the documentation, without a trailing slash: the base of every `doc_url`. */
  readonly docs_url: string
  /** The origins, such as `https://shop.example`, whose web pages may call the routes that accept widget keys. */
  readonly cors_origins?: ReadonlyArray<string>
  /** Called after every response. It must not block. If it throws or its promise rejects, the error is logged. */
  readonly onAnswered?: (answered: Answered) => unknown
}

/** A request with its response, for metrics. */
export interface Answered {
  /** The route's name; `*` if no path matched. */
  readonly name: string
  readonly status: number
  readonly duration_ms: number
}

/** The services that the routes use, and the services needed to log requests without a route. */
export type Services<R> = R | Pipeline.PipelineServices | Ids.Ids

/** The matched route, with its path parameters. */
export type FoundRoute<R> = Paths.Match<Pick<Route<R>, "name" | "cors" | "handle">>

/** The outcome of a route. */
export type AnswerExit = Exit.Exit<Answer.Answer, ApiError.ApiError>

/** Finds routes, runs them, and creates the responses. */
export interface Answering<R> {
  /** Finds a request's route; null if no route matches. A `HEAD` request uses the `GET` route. */
  readonly find: (method: string, path: string) => FoundRoute<R> | null
  /** Responds to a request that has no route. */
  readonly notFound: (path: string) => FoundRoute<R>
  /** Responds to a preflight from an allowed origin; null for any other request. */
  readonly preflight: (method: string, path: string, header: Header) => Answer.Answer | null
  /** Begins an exchange: assigns its request ID and the headers that its response must have. */
  readonly begin: (route: FoundRoute<R>["value"], path: string, header: Header) => HttpExchange
  /**
   * Runs a route and reports its outcome to `onEnd`. Returns a function that interrupts the route, or null if the route
   * has already ended.
   */
  readonly run: (
    route: FoundRoute<R>["value"],
    incoming: Incoming,
    onEnd: (exit: AnswerExit) => void
  ) => (() => void) | null
  /**
   * Writes a streamed body and calls `onEnd` at its end. Returns a function that interrupts the writing, or null, like
   * `run`.
   */
  readonly stream: (
    exchange: HttpExchange,
    streamed: Answer.Streamed,
    write: (text: string) => void,
    onEnd: () => void
  ) => (() => void) | null
  /**
   * Creates the response from a route's outcome. A failure becomes a refusal. A defect (a bug) is logged and reported
   * without details.
   */
  readonly answer: (exchange: HttpExchange, exit: AnswerExit) => Answer.Answer
  /** Reports a response to `onAnswered`. */
  readonly answered: (exchange: HttpExchange, status: number) => void
  /** Calls a function from the settings. If the function throws, logs the error under `name` and returns undefined. */
  readonly guarded: <A>(name: string, call: () => A) => A | undefined
  /** Creates the response to a request that never reached a route, with a new `request-id`. */
  readonly refusal: (error: ApiError.ApiError) => Answer.Answer
  /** Refuses every new request with `service_unavailable`. Running requests finish. */
  readonly refuse: Effect.Effect<void>
  /** Waits until no request is running. */
  readonly idle: Effect.Effect<void>
  /** Interrupts running requests. Waits only briefly for requests that do not end. */
  readonly interruptAll: Effect.Effect<void>
}

/**
 * A request whose response is not complete. A class, not an object literal, so that V8 frees finished requests early
 * (see `PipelinedRequest`).
 */
export class HttpExchange {
  readonly request_id: Ids.RequestId
  /** The headers that every response has, even a refusal or a preflight's response. `request-id` comes first. */
  readonly headers: Readonly<Record<string, string>>
  readonly name: string
  /** When the request arrived, by `performance.now()`; 0 if not measured. */
  readonly began_ms: number

  constructor(requestId: Ids.RequestId, headers: HttpExchange["headers"], name: string, beganMs: number) {
    this.request_id = requestId
    this.headers = headers
    this.name = name
    this.began_ms = beganMs
  }
}

/** Creates the `Answering` for these routes. Requests run in the current scope: closing the scope interrupts them. */
export const make = Effect.fnUntraced(function* <R>(
  routes: ReadonlyArray<Route<R>>,
  settings: Settings
): Effect.fn.Return<Answering<Services<R>>, never, Services<R> | Scope.Scope> {
  const context = yield* Effect.context<Services<R>>()
  // Closing the scope waits for interrupted requests only as long as `interruptAll` does.
  const scope = yield* Effect.acquireRelease(Scope.make(), (runScope) => waitBriefly(Scope.close(runScope, Exit.void)))
  const running = yield* Scope.provide(FiberSet.make<Answer.Answer, ApiError.ApiError>(), scope)
  const [newest] = yield* Revision.ServedRevisions
  return makeUnsafe(routes, { ...settings, revision: newest.date }, context, running)
})

/** How long interrupted requests may take to end, in milliseconds. */
const lastCallsMs = 250

/** Runs an effect and waits briefly for its end. An effect that cannot be interrupted continues in the background. */
const waitBriefly = (effect: Effect.Effect<void>): Effect.Effect<void> =>
  Effect.flatMap(Effect.forkDetach(effect), (fiber) =>
    Effect.asVoid(Effect.timeoutOption(Effect.interruptible(Fiber.await(fiber)), lastCallsMs))
  )

const makeUnsafe = <R>(
  routes: ReadonlyArray<Route<R>>,
  settings: Settings & Answer.Refusals,
  context: Context.Context<Services<R>>,
  running: FiberSet.FiberSet<Answer.Answer, ApiError.ApiError>
): Answering<Services<R>> => {
  const ids = Context.get(context, Ids.Ids)
  const fork = Effect.runForkWith(quiet(context))
  const errorOf = errorsLoggedBy(fork)
  return {
    ...makeHttpExchanges(routes, settings, ids),
    ...makeRuns(handledIn(context), fork, running, errorOf),
    ...makeAnswers(settings, ids, errorOf),
    ...makeCallbacks(settings, fork)
  }
}

type Part<R, Name extends keyof Answering<R>> = Pick<Answering<Services<R>>, Name>

/** Finds the routes of requests, and begins exchanges. */
const makeHttpExchanges = <R>(
  routes: ReadonlyArray<Route<R>>,
  { cors_origins: origins = [], onAnswered, revision }: Settings & Answer.Refusals,
  ids: Ids.Ids["Service"]
): Part<R, "find" | "notFound" | "preflight" | "begin"> => {
  const paths = Paths.make(routes.map((route) => ({ method: route.method, path: route.path, value: route })))
  const cors = origins.length === 0 ? null : Cors.make(origins, paths)
  return {
    find: (method, path) => paths.find(method === "HEAD" ? "GET" : method, path),
    notFound: (path) => NotFound.match(paths, path),
    preflight: (method, path, header) => cors?.preflight(method, path, header) ?? null,
    begin: (route, path, header) => {
      // If the response uses an older revision, the route replaces `service-version` (api.md, Choosing a revision).
      const requestId = ids.request()
      const headers: Record<string, string> = { "request-id": requestId }
      if (path.startsWith("/v1/")) headers["service-version"] = revision
      if (cors !== null) Object.assign(headers, cors.headers(header, route.cors))
      const beganMs = onAnswered === undefined ? 0 : performance.now()
      return new HttpExchange(requestId, headers, route.name, beganMs)
    }
  }
}

type Fork<R> = <A, E>(work: Effect.Effect<A, E, R>) => Fiber.Fiber<A, E>

/** Turns the cause of a route's failure into the error that the caller receives. */
type ErrorOf = (request_id: string, cause: Cause.Cause<ApiError.ApiError>) => ApiError.ApiError

const errorsLoggedBy =
  (fork: Fork<never>): ErrorOf =>
  (requestId, cause) => {
    const error = Cause.findErrorOption(cause)
    if (Option.isSome(error)) return error.value
    if (Cause.hasInterruptsOnly(cause)) return closingDown
    fork(logDefect(cause, requestId))
    return ApiError.make("internal_error")
  }

/** Runs routes and streamed bodies until they end or are interrupted. */
const makeRuns = <R>(
  handled: HandleRoute<R>,
  fork: Fork<R>,
  running: FiberSet.FiberSet<Answer.Answer, ApiError.ApiError>,
  errorOf: ErrorOf
): Pick<Answering<R>, "run" | "stream" | "refuse" | "idle" | "interruptAll"> => {
  let isRefusing = false

  const watched = (work: RouteResult<R>, onEnd: (exit: AnswerExit) => void) => {
    const fiber = fork(work)
    fiber.addObserver(onEnd)
    if (fiber.pollUnsafe() !== undefined) return null
    FiberSet.addUnsafe(running, fiber)
    return () => fiber.interruptUnsafe()
  }

  return {
    run: (route, incoming, onEnd) => {
      if (isRefusing) {
        onEnd(Exit.fail(closingDown))
        return null
      }
      const work = handled(route, incoming)
      if (!isDone(work)) return watched(work, onEnd)
      onEnd(work)
      return null
    },
    stream: ({ request_id }, streamed, write, onEnd) =>
      watched(
        Effect.as(
          Effect.suspend(() => streamed(write)),
          Answer.empty(200)
        ),
        (exit) => {
          if (Exit.isFailure(exit)) errorOf(request_id, exit.cause)
          onEnd()
        }
      ),
    refuse: Effect.sync(() => {
      isRefusing = true
    }),
    idle: FiberSet.awaitEmpty(running),
    interruptAll: waitBriefly(FiberSet.clear(running))
  }
}

/** Creates responses from outcomes and refusals. */
const makeAnswers = (
  settings: Answer.Refusals,
  ids: Ids.Ids["Service"],
  errorOf: ErrorOf
): Pick<Answering<never>, "answer" | "refusal"> => ({
  answer: ({ request_id }, exit) =>
    Exit.isSuccess(exit) ? exit.value : Answer.refusal(errorOf(request_id, exit.cause), request_id, settings),
  refusal: (error) => {
    const requestId = ids.request()
    const answer = Answer.refusal(error, requestId, settings)
    return { ...answer, headers: { ...answer.headers, "request-id": requestId } }
  }
})

/** Calls the functions in the settings and logs what they throw. */
const makeCallbacks = ({ onAnswered }: Settings, fork: Fork<never>): Pick<Answering<never>, "answered" | "guarded"> => {
  const logFailed = (name: string, defect: unknown) => void fork(Effect.logWarning(`${name} failed`, Cause.die(defect)))
  const guarded = <A>(name: string, call: () => A): A | undefined => {
    try {
      return call()
    } catch (defect) {
      logFailed(name, defect)
      return undefined
    }
  }
  return {
    answered: ({ began_ms, name }, status) => {
      if (onAnswered === undefined) return
      const duration_ms = performance.now() - began_ms
      const done = guarded("onAnswered", () => onAnswered({ name, status, duration_ms }))
      if (Predicate.isPromiseLike(done)) done.then(undefined, (defect) => logFailed("onAnswered", defect))
    },
    guarded
  }
}

/** Whether the host has its own tracer. */
const isTraced = (context: Context.Context<never>): boolean =>
  Context.get(context, Tracer.Tracer) !== Tracer.nativeTracer

/** Turns tracing off if the host has no tracer, because nothing would read the spans. */
const quiet = <R>(context: Context.Context<R>): Context.Context<R> =>
  isTraced(context) ? context : Context.add(context, References.TracerEnabled, false)

const isDone = <A, E, R>(work: Effect.Effect<A, E, R>): work is Exit.Exit<A, E> => Exit.isExit(work)

type RouteResult<R> = Effect.Effect<Answer.Answer, ApiError.ApiError, R>

/** A route's work. It is an `Exit` if the route has already finished. */
type HandleRoute<R> = (route: Pick<Route<R>, "name" | "handle">, incoming: Incoming) => RouteResult<R>

/** If there is a tracer, adds a span that names the route but contains no data from the request. */
const handledIn = <R>(context: Context.Context<R>): HandleRoute<R> => {
  const handle = (route: Pick<Route<R>, "name" | "handle">, incoming: Incoming) => {
    try {
      return route.handle(incoming)
    } catch (defect) {
      return Exit.die(defect)
    }
  }
  if (!isTraced(context)) return handle
  return (route: Pick<Route<R>, "name" | "handle">, incoming: Incoming) => {
    const { method, request_id } = incoming
    const attributes = { "http.request.method": method, request_id }
    return Effect.withSpan(handle(route, incoming), route.name, { kind: "server", attributes })
  }
}

/** The error for requests that arrive while the host is stopping. */
export const closingDown = ApiError.make("service_unavailable", { retry_after_seconds: 1 })

const logDefect = (cause: Cause.Cause<unknown>, request_id: string) =>
  Effect.logError("A request failed", cause).pipe(Effect.annotateLogs({ request_id }))
