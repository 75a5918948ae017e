import { ApiError, type Caller, type FinishedCall, Pipeline, Revision } from "@quotewire/core"
import { Effect, type Result } from "effect"
import * as Answer from "../host/Answer.ts"
import * as Body from "../host/Body.ts"
import * as Cors from "../host/Cors.ts"
import * as RequestInfo from "../host/RequestInfo.ts"
import type { Incoming, Route } from "../host/Route.ts"
import type { Challenged } from "./Challenge.ts"
import * as Gate from "./Gate.ts"

export type { Origins } from "../host/Cors.ts"
export type { Gate } from "./Gate.ts"

/** What the host passes to the endpoint: a `POST` request's body and its sender. */
export interface Posted extends Pipeline.RequestHead {
  readonly caller: Caller.Caller
  /** The kinds of caller that the sender could become by signing in; empty if the sender cannot sign in. */
  readonly obtainable_kinds: ReadonlyArray<Caller.CallerKind>
  /** The address of the documentation, without a trailing slash. */
  readonly docs_url: string
  /** How the request arrived, for the request log. */
  readonly transport: FinishedCall.Transport
  /** The headers that `request_headers` lists, by lower-case name; null for a header that was not sent. */
  readonly headers: Readonly<Record<string, string | null>>
  /** The body as JSON. If the body is not JSON, the endpoint responds with an error of its own protocol. */
  readonly body: Result.Result<unknown, ApiError.ApiError<"invalid_json">>
}

/** The response to a message. */
export interface Reply {
  readonly status: number
  /** The headers that `answer_headers` lists, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  /** Encoded JSON; null for a response without a body. */
  readonly text: string | null
  /**
   * Sends several JSON messages as server-sent events, instead of `text`. Sending is interrupted if the caller
   * disconnects. The host sends comments to keep a silent stream open.
   */
  readonly events?: (send: (text: string) => void) => Effect.Effect<void>
}

/**
 * A protocol of messages over `POST`, such as JSON-RPC. The endpoint handles the messages, and the host handles HTTP.
 */
export interface MessageEndpoint<out R = never> {
  /** The paths of the endpoint. The first path is the endpoint's name in metrics, traces and the request log. */
  readonly paths: readonly [string, ...ReadonlyArray<string>]
  /** The request headers that the protocol uses. */
  readonly request_headers: ReadonlyArray<string>
  /** The response headers that the protocol uses. */
  readonly answer_headers: ReadonlyArray<string>
  /** The JSON body of the 405 response to methods other than `POST`. */
  readonly only_post: string
  /**
   * Responds to the body of one request, and logs the request. Interrupting the effect cancels the call.
   *
   * If the effect fails because the caller is not admitted, the host sends the error envelope and logs the request. If
   * it fails with `forbidden` because the caller lacks authority that one of `obtainable_kinds` has, the endpoint has
   * already logged the request.
   */
  readonly answer: (posted: Posted) => Effect.Effect<Reply, ApiError.ApiError, R>
}

/**
 * Serves a message endpoint to web pages from these origins and to callers that the gate admits.
 *
 * Requests that are refused before the endpoint reads a message get the error envelope: `forbidden` for pages from
 * other origins, the gate's refusals, and `request_too_large` above 256 KiB.
 */
export const make = <R>(
  endpoint: MessageEndpoint<R>,
  origins: Cors.Origins,
  gate: Gate.Gate = Gate.keysOnly
): ReadonlyArray<Route<R | Pipeline.PipelineServices>> => {
  const [name] = endpoint.paths
  const exposed = [...endpoint.answer_headers, "Request-Id", "Service-Version", "WWW-Authenticate"].join(", ")
  const always = ["Accept", "Authorization", "Content-Type"]
  const allowed = [...new Set([...always, ...endpoint.request_headers])].join(", ")
  const permitted: Reply = { status: 204, headers: Cors.permitting("POST", allowed), text: null }
  const refused: Reply = { status: 405, headers: { allow: "POST" }, text: endpoint.only_post }
  const refuse: Answers<R> = (request) => Effect.as(logUnadmitted(gate, request, 405, "not_found"), refused)
  const methods: Readonly<Record<Method, Answers<R>>> = {
    POST: postHandler(endpoint, gate),
    GET: refuse,
    DELETE: refuse,
    OPTIONS: (request) => (request.origin === null ? refuse(request) : Effect.succeed(permitted))
  }
  const handle = (method: Method, incoming: Incoming) => {
    const request = requestOf(incoming, { ...RequestInfo.transport(incoming, name), method })
    const { origin } = request
    const isAllowed = origin === null || Cors.isAllowed(origins, origin)
    const replied: Replied<R> = isAllowed
      ? methods[method](request)
      : Effect.andThen(logUnadmitted(gate, request, forbiddenOrigin.status, forbiddenOrigin._tag), forbiddenOrigin)
    const readable = origin === null ? none : Cors.readableBy(origin, exposed)
    return replied.pipe(
      Effect.flatMap((reply) => answerOf(reply, readable)),
      Effect.catchTag("Challenged", (challenged) => challengeOf(challenged, incoming, readable))
    )
  }
  return endpoint.paths.flatMap((path) =>
    (["POST", "GET", "DELETE", "OPTIONS"] as const).map((method) => ({
      name,
      method,
      path,
      // The route checks origins itself, because the endpoint's allowed origins differ from the operations' allowed
      // origins.
      cors: false,
      handle: (incoming: Incoming) => handle(method, incoming)
    }))
  )
}

type Method = "POST" | "GET" | "DELETE" | "OPTIONS"

type Answers<R> = (request: Request) => Replied<R>

type Replied<R> = Effect.Effect<Reply, ApiError.ApiError | Challenged, R | Pipeline.PipelineServices>

/** A request in progress. */
interface Request extends Pipeline.RequestHead {
  readonly incoming: Incoming
  readonly origin: string | null
  readonly transport: FinishedCall.Transport
}

const requestOf = (incoming: Incoming, transport: FinishedCall.Transport): Request => {
  const { address, header, request_id } = incoming
  const key = RequestInfo.key(header("authorization"))
  const credentials = { key, read_handle: null, address, keyless: true }
  return { incoming, request_id, credentials, transport, origin: header("origin") }
}

/** Creates the `POST` handler. It checks the sender, reads the body and passes the body to the endpoint. */
const postHandler = <R>({ answer, request_headers }: MessageEndpoint<R>, gate: Gate.Gate): Answers<R> => {
  const names = request_headers.map((name) => name.toLowerCase())
  return Effect.fnUntraced(function* (request: Request) {
    const { incoming, request_id, transport } = request
    const { docs_url, header } = incoming
    const admitted = yield* gate.admit({ request_id, credentials: request.credentials })
    const read = Effect.flatMap(incoming.read(Body.maxBytes), (bytes) =>
      answer({
        ...admitted,
        request_id,
        docs_url,
        transport,
        headers: Object.fromEntries(names.map((name) => [name, header(name)])),
        body: RequestInfo.json(bytes, header)
      })
    )
    return yield* Effect.catch(read, (error) => {
      if (error._tag === "forbidden") return Effect.fail(gate.refuse(admitted, error))
      const logged = isCountedAlready(error) ? Effect.void : logRequest(request, admitted.credentials, error)
      return Effect.andThen(logged, Effect.fail(error))
    })
  })
}

const forbiddenOrigin = ApiError.make("forbidden", { message: "Pages from this origin may not call this endpoint." })

const none: Readonly<Record<string, string>> = {}

/** The headers of an event stream. They tell proxies not to buffer the events. */
const eventHeaders = { "content-type": "text/event-stream", "cache-control": "no-store", "x-accel-buffering": "no" }

/**
 * How often a comment is sent in an event stream, in milliseconds. Proxies close connections that are silent for a
 * minute.
 */
const commentMs = 15_000

/** Sends comments while a stream is open. Clients ignore them. */
const keepOpen = (write: (text: string) => void): Effect.Effect<never> =>
  Effect.forever(
    Effect.delay(
      Effect.sync(() => write(":\n\n")),
      commentMs
    )
  )

/** Creates the HTTP response from a reply. All responses use the current revision (api.md, Choosing a revision). */
const answerOf = ({ events, headers, status, text }: Reply, readable: Readonly<Record<string, string>>) => {
  const allHeaders = { ...headers, ...readable }
  if (events !== undefined) {
    const stream: Answer.Streamed = (write) =>
      Effect.raceFirst(
        events((event) => write(`event: message\ndata: ${event}\n\n`)),
        keepOpen(write)
      )
    return Effect.succeed<Answer.Answer>({ status, headers: { ...allHeaders, ...eventHeaders }, body: null, stream })
  }
  return text === null
    ? Effect.succeed<Answer.Answer>({ status, headers: allHeaders, body: null })
    : Effect.map(Revision.ServedRevisions, ([{ date }]) => Answer.json(status, text, date, allHeaders))
}

/** Creates the response for a challenge. It tells the client how to sign in. */
const challengeOf = (
  { error, header }: Challenged,
  { docs_url, request_id }: Incoming,
  readable: Readonly<Record<string, string>>
) =>
  Effect.map(Revision.ServedRevisions, ([{ date }]) => {
    const answer = Answer.refusal(error, request_id, { docs_url, revision: date })
    return { ...answer, headers: { ...answer.headers, ...readable, "www-authenticate": header } }
  })

/**
 * Whether a refusal is about the caller's key. If so, the wrong key has already been counted, and must not be looked up
 * again.
 */
const isCountedAlready = ({ _tag }: ApiError.ApiError): boolean =>
  _tag === "authentication_failed" || _tag === "rate_limited"

/** Logs a request that was refused before the endpoint read a message. */
const logRequest = (
  { request_id, transport }: Request,
  credentials: Request["credentials"],
  { _tag, status }: Pick<ApiError.ApiError, "_tag" | "status">
) => Pipeline.logUnrouted({ request_id, credentials, transport: { ...transport, status }, error_code: _tag })

/** Logs a request whose sender has not been checked yet. Requests without a valid key or token are not logged. */
const logUnadmitted = (gate: Gate.Gate, request: Request, status: number, _tag: ApiError.ErrorCode) =>
  Effect.ignore(
    Effect.flatMap(gate.admit(request), ({ credentials }) => logRequest(request, credentials, { _tag, status }))
  )
