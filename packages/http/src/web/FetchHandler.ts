import { Effect, Exit, type Scope } from "effect"
import type { Answer, Streamed } from "../host/Answer.ts"
import * as Answering from "../host/Answering.ts"
import * as Body from "../host/Body.ts"
import * as Paths from "../host/Paths.ts"
import * as RequestInfo from "../host/RequestInfo.ts"
import type { Header, Incoming, Route } from "../host/Route.ts"
import * as FetchBody from "./FetchBody.ts"

/** Settings of a handler of Web requests besides its routes. */
export interface Settings extends Answering.Settings, Body.Limits {
  /** The path below which requests arrive, percent-encoded and without a trailing slash. */
  readonly base_path: string
  /** The path below which callers reach the host; by default the path below which the request arrived. */
  readonly public_path?: string
  /** The proxies that are trusted to report a caller's address; null if no proxies are trusted. */
  readonly proxies: RequestInfo.Proxies | null
  /** Returns a caller's address, which a Web request does not contain. By default all callers share one address. */
  readonly address?: (request: Request) => string | undefined
}

/** Responds to a Web request. It never rejects. */
export type Handle = (request: Request) => Promise<Response>

/** A handler of Web requests that can be stopped. */
export interface Handler extends Pick<Answering.Answering<never>, "refuse" | "idle" | "interruptAll"> {
  readonly handle: Handle
}

/**
 * Creates a handler whose requests run in the current scope, with the current services. A request is interrupted when
 * its caller disconnects.
 */
export const make = Effect.fnUntraced(function* <R>(
  routes: ReadonlyArray<Route<R>>,
  settings: Settings
): Effect.fn.Return<Handler, never, Answering.Services<R> | Scope.Scope> {
  const answering = yield* Answering.make(routes, settings)
  return { ...answering, handle: handleWith(answering, settings) }
})

const handleWith = <R>(answering: Answering.Answering<R>, settings: Settings): Handle => {
  const locate = Paths.locate(settings.base_path)
  const bodies = new Body.ArrivingBodies(settings)
  const countedAddress = RequestInfo.addressOf(settings.proxies)
  const { address: addressOf = () => undefined } = settings

  return (request) => {
    const { method } = request
    // Ignores `accept-encoding`, so that the server in front of this handler compresses the response. Next drops the
    // `content-encoding` header of a response that is already compressed, and compresses the response again.
    const header: Header = (name) => (name === "accept-encoding" ? null : request.headers.get(name))
    const target = locate(withoutFragment(request.url), "") ?? Paths.elsewhere
    const { params, value: route } = answering.find(method, target.path) ?? answering.notFound(target.path)
    const exchange = answering.begin(route, target.path, header)
    const preflight = answering.preflight(method, target.path, header)
    if (preflight !== null) return Promise.resolve(responseOf(exchange, method, preflight))
    const incoming = new IncomingRequest(request, bodies, {
      request_id: exchange.request_id,
      method,
      params,
      query: target.query,
      header,
      docs_url: settings.docs_url,
      public_path: settings.public_path ?? target.mount_path,
      address: answering.guarded("address", () => countedAddress(addressOf(request) ?? "", header)) ?? ""
    })
    return new Promise((resolve) => {
      let forget = () => {}
      const interrupt = answering.run(route, incoming, (exit) => {
        forget()
        resolve(respond(answering, exchange, method, exit))
      })
      // Some platforms create the signal only when it is read, so read it only if the request is still running.
      if (interrupt !== null) forget = onAbort(request.signal, interrupt)
    })
  }
}

/** The parts of a request that the handler derives. */
type DerivedParts = Omit<Incoming, "headers" | "read" | "readRaw">

/** A request as a route receives it. A class, because an object literal with a getter is expensive to create. */
class IncomingRequest implements Incoming {
  readonly request_id: Incoming["request_id"]
  readonly method: string
  readonly params: Incoming["params"]
  readonly query: string
  readonly header: Header
  readonly address: string
  readonly docs_url: string
  readonly public_path: string
  readonly read: Incoming["read"]
  readonly readRaw: Incoming["readRaw"]
  private readonly request: Request

  constructor(request: Request, bodies: Body.ArrivingBodies, derived: DerivedParts) {
    this.request_id = derived.request_id
    this.method = derived.method
    this.params = derived.params
    this.query = derived.query
    this.header = derived.header
    this.address = derived.address
    this.docs_url = derived.docs_url
    this.public_path = derived.public_path
    this.request = request
    this.read = (maxBytes) => FetchBody.read(request, maxBytes, bodies)
    this.readRaw = this.read
  }

  /** All headers. Built on demand, because building the object is expensive and few routes need it. */
  get headers(): Incoming["headers"] {
    return Object.fromEntries(this.request.headers)
  }
}

/** Removes the fragment that a Web request keeps in its URL. A fragment is not part of the request target. */
const withoutFragment = (url: string): string => {
  const mark = url.indexOf("#")
  return mark < 0 ? url : url.slice(0, mark)
}

/** Runs an action when a signal is aborted. Returns a function that unsubscribes. */
const onAbort = (signal: AbortSignal, callback: () => void): (() => void) => {
  if (signal.aborted) callback()
  signal.addEventListener("abort", callback, { once: true })
  return () => signal.removeEventListener("abort", callback)
}

const respond = <R>(
  answering: Answering.Answering<R>,
  exchange: Answering.HttpExchange,
  method: string,
  exit: Answering.AnswerExit
): Response => {
  const answer = answering.answer(exchange, exit)
  answering.answered(exchange, answer.status)
  try {
    const { stream } = answer
    if (stream === undefined) return responseOf(exchange, method, answer)
    const streamed = responseOf(exchange, method, { ...answer, body: null })
    return new Response(streamBody(answering, exchange, stream), { status: answer.status, headers: streamed.headers })
  } catch (defect) {
    // Creating the response fails if a header value is invalid.
    return responseOf(exchange, method, answering.answer(exchange, Exit.die(defect)))
  }
}

/**
 * Turns a streamed body into a `ReadableStream`. If the caller cancels the stream, the effect that writes it is
 * interrupted.
 */
const streamBody = <R>(
  answering: Answering.Answering<R>,
  exchange: Answering.HttpExchange,
  streamed: Streamed
): ReadableStream<Uint8Array> => {
  const encoder = new TextEncoder()
  let interrupt: (() => void) | null = null
  let isOpen = true
  return new ReadableStream({
    start: (controller) => {
      const write = (text: string) => {
        if (isOpen) controller.enqueue(encoder.encode(text))
      }
      interrupt = answering.stream(exchange, streamed, write, () => {
        if (isOpen) controller.close()
        isOpen = false
      })
    },
    cancel: () => {
      isOpen = false
      interrupt?.()
    }
  })
}

const responseOf = ({ headers }: Answering.HttpExchange, method: string, answer: Answer): Response =>
  toResponse({ ...answer, headers: { ...headers, ...answer.headers } }, method)

/** Converts a response to a Web response. The response to `HEAD` has the length but no body. */
export const toResponse = ({ body, headers, status }: Answer, method: string): Response => {
  if (status === 204 || status === 304) return new Response(null, { status, headers })
  if (method !== "HEAD") return new Response(body instanceof Uint8Array ? body.slice() : body, { status, headers })
  const length = typeof body === "string" ? new TextEncoder().encode(body).length : (body?.length ?? 0)
  return new Response(null, { status, headers: { ...headers, "content-length": String(length) } })
}
