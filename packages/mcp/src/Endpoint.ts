import { ApiError, type Caller, type FinishedCall, Ids, Pipeline } from "@quotewire/core"
import { type Context, Effect, Result } from "effect"
import * as JsonRpc from "./JsonRpc.ts"
import * as Protocol from "./Protocol.ts"
import * as Server from "./Server.ts"
import * as Session from "./Session.ts"
import * as View from "./views/View.ts"

/** A `POST` that the host has read: the sender and the body. */
export interface Posted extends Pipeline.RequestHead {
  readonly caller: Caller.Caller
  /** The kinds of caller that the sender could become by signing in; none if it cannot. */
  readonly obtainable_kinds: ReadonlyArray<Caller.CallerKind>
  /** The address of the documentation, without a trailing slash. */
  readonly docs_url: string
  /** How the request came in, for the request log. */
  readonly transport: FinishedCall.Transport
  /** The `request_headers`, by name in lower case; null for one that was not sent. */
  readonly headers: Readonly<Record<string, string | null>>
  /** The body as JSON; a failure if it is not JSON. Its message says why. */
  readonly body: Result.Result<unknown, { readonly message: string }>
}

/** The answer: JSON-RPC as text, or null for no body, with the status and headers for HTTP. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string | null
  /** Instead of `text`: sends several messages, the answer last. Interrupting it cancels the call. */
  readonly events?: (send: (text: string) => void) => Effect.Effect<void>
}

/** Settings of an endpoint besides those of its server. */
export interface Settings<R> extends Server.Settings<R> {
  /** Signs text, so that every host can verify it. */
  readonly sign: (text: string) => Effect.Effect<string, never, R>
  readonly isSigned: (text: string, signature: string) => Effect.Effect<boolean, never, R>
}

/** The agent endpoint without HTTP: a host reads the requests and sends the answers. */
export interface Endpoint<out R> {
  /** The paths to serve. Some programs add a slash at the end. */
  readonly paths: readonly [string, ...ReadonlyArray<string>]
  /** The headers of MCP that the endpoint reads. */
  readonly request_headers: ReadonlyArray<string>
  /** The headers of MCP that it sends. */
  readonly answer_headers: ReadonlyArray<string>
  /** The answer to other methods than `POST`. */
  readonly only_post: string
  /**
   * Answers a message or a batch, and logs each message. Interrupting it cancels the call.
   *
   * It fails if the caller is no longer admitted, and with `forbidden` if it lacks authority for the tool that one of its
   * `obtainable_kinds` has.
   */
  readonly answer: (posted: Posted) => Effect.Effect<Reply, ApiError.ApiError, R | Pipeline.PipelineServices | Ids.Ids>
}

/** The agent endpoint (api.md, Agent endpoint). It is stateless between requests. */
export const make = <R>(settings: Settings<R>): Endpoint<R> => {
  const answerOne = messageWith(settings)
  const answerBatch = batchWith(answerOne)
  return {
    paths: [Protocol.path, `${Protocol.path}/`],
    request_headers: ["Accept", "Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version", "Mcp-Session-Id"],
    answer_headers: ["Mcp-Session-Id"],
    only_post: JsonRpc.failure(onlyPost),
    answer: (posted) => {
      const hasBatches = Protocol.hasBatches(routingHeaders(posted).version)
      const json = Result.mapError(posted.body, ({ message }) => JsonRpc.unparsable(message))
      const read = Result.flatMap(json, (value) => JsonRpc.readBody(value, hasBatches))
      if (Result.isFailure(read)) {
        const { error, id } = read.failure
        return Effect.as(logMessage(posted, transportOf(posted, null, 400), "invalid_json"), failed(id, error, 400))
      }
      return "method" in read.success ? answerOne(posted, read.success) : answerBatch(posted, read.success)
    }
  }
}

const onlyPost: JsonRpc.Unreadable = {
  id: null,
  error: { code: JsonRpc.codes.invalid_request, message: "Only POST is served here." }
}

/** Answers one message. */
const messageWith = <R>(settings: Settings<R>) => {
  const server = Server.make(settings)
  const resumed = Effect.fnUntraced(function* (session: string | null) {
    const token = session === null ? null : Session.read(session)
    if (token === null) return nobody
    return (yield* settings.isSigned(token.payload, token.signature)) ? token.session : nobody
  })
  /** What a program of the legacy era said about itself: in `initialize`, or earlier, in its session. */
  const introducedIn = (posted: Posted, message: JsonRpc.Message): Effect.Effect<Introduced, never, R> => {
    if (message.method !== "initialize") return resumed(posted.headers["mcp-session-id"] ?? null)
    const { capabilities, clientInfo } = message.params
    return Effect.succeed({ client: Protocol.clientOf(clientInfo), shows_views: View.canShow(capabilities) })
  }
  const sessionHeaders = Effect.fnUntraced(function* ({ client, shows_views }: Introduced) {
    if (client === null) return noHeaders
    const session = { client, shows_views }
    return { "mcp-session-id": Session.write(session, yield* settings.sign(Session.payloadOf(session))) }
  })
  return Effect.fnUntraced(function* (posted: Posted, message: JsonRpc.Message) {
    const { caller, credentials, docs_url, obtainable_kinds, request_id } = posted
    const headers = routingHeaders(posted)
    const era = Protocol.eraOf(message, headers.version)
    const introduced =
      era === "modern"
        ? { client: Protocol.clientNamedIn(message), shows_views: Protocol.showsViewsIn(message) }
        : yield* introducedIn(posted, message)
    const { client, shows_views } = introduced
    const logged = (reply: Reply) =>
      Effect.as(logMessage(posted, transportOf(posted, client, reply.status), codeOf(reply.status)), reply)
    const checked = Protocol.check(era, message, headers)
    if (Result.isFailure(checked)) return yield* logged(failed(message.id, checked.failure, 400))
    const transport = transportOf(posted, client, 200)
    const elicits = era === "modern" && Protocol.elicitsIn(message)
    const sender: Server.Sender = {
      request_id,
      credentials,
      docs_url,
      caller,
      obtainable_kinds,
      era,
      transport,
      elicits,
      shows_views,
      ask: null,
      notify: null
    }
    if (reportsProgress(posted, message)) return yield* streamed(server, posted, message, sender)
    const outcome = yield* server.answer(message, sender)
    if (outcome._tag === "nothing" || message.id === null) return yield* logged(accepted)
    if (outcome._tag === "error") return yield* logged(failed(message.id, outcome.error, statusOf(era, outcome.error)))
    const text = JsonRpc.result(message.id, outcome.text)
    // The tool's operation has logged the call.
    if (message.method === "tools/call") return ok(text)
    return yield* logged(ok(text, message.method === "initialize" ? yield* sessionHeaders(introduced) : noHeaders))
  })
}

/** The program that has sent a message, as it describes itself. */
type Introduced = Omit<Session.Session, "client"> & { readonly client: Protocol.Client | null }

const nobody: Introduced = { client: null, shows_views: false }

/** Whether a program asks for the progress of a call, and accepts server-sent events. */
const reportsProgress = ({ headers }: Posted, message: JsonRpc.Message): boolean =>
  message.id !== null &&
  message.method === "tools/call" &&
  Protocol.progressTokenOf(message) !== null &&
  acceptsEvents(headers.accept ?? "")

/** Whether an `Accept` header names events, and not only to exclude them. */
const acceptsEvents = (accept: string): boolean =>
  accept.split(",").some((range) => /^\s*text\/event-stream\s*(;|$)/i.test(range) && !/;\s*q=0(\.0*)?\s*$/i.test(range))

/** Answers a call with server-sent events: first its progress, at the end its answer. */
const streamed = <R>(server: Server.Server<R>, posted: Posted, message: JsonRpc.Message, sender: Server.Sender) =>
  Effect.contextWith((context: Context.Context<R | Ids.Ids | Pipeline.PipelineServices>) => {
    const events = (send: (text: string) => void) => {
      const notify = (method: string, params: object) =>
        Effect.sync(() => send(JSON.stringify({ jsonrpc: "2.0", method, params })))
      // The status 200 was sent already, so a challenge to sign in is not possible any more.
      return server.answer(message, { ...sender, obtainable_kinds: [], notify }).pipe(
        // A call that has reached a tool is logged by its operation.
        Effect.tap(({ _tag }) =>
          _tag === "error" ? logMessage(posted, { ...sender.transport, status: 200 }, null) : Effect.void
        ),
        Effect.catch((error) => {
          const envelope = ApiError.envelope(error, sender.request_id, sender.docs_url)
          return Effect.succeed(Server.refused(envelope))
        }),
        Effect.flatMap((outcome) => Effect.sync(() => send(Server.textOf(message.id, outcome) ?? ""))),
        Effect.provideContext(context)
      )
    }
    return Effect.succeed<Reply>({ status: 200, headers: noHeaders, text: null, events })
  })

/** Answers the messages of a batch concurrently. Each counts as its own request, also in the request log. */
const batchWith = <R>(
  answer: (posted: Posted, message: JsonRpc.Message) => Effect.Effect<Reply, ApiError.ApiError, R>
) =>
  Effect.fnUntraced(function* (posted: Posted, batch: JsonRpc.Batch) {
    const ids = yield* Ids.Ids
    const answerOne = Effect.fnUntraced(function* (read: JsonRpc.Batch[number], index: number) {
      // All answers go out in one JSON list, so no message is answered with events, and none with a challenge to sign in:
      // a challenge would replace the list, although other messages have taken effect.
      const single = { ...posted, headers: { ...posted.headers, accept: null }, obtainable_kinds: [] }
      const own = index === 0 ? single : { ...single, request_id: ids.request() }
      const message = Result.flatMap(read, Protocol.checkBatchMember)
      if (Result.isSuccess(message)) return yield* answer(own, message.success)
      yield* logMessage(own, transportOf(own, null, 200), "invalid_json")
      return failed(message.failure.id, message.failure.error, 200)
    })
    const answers = yield* Effect.forEach(batch, answerOne, { concurrency: "unbounded" })
    const texts = answers.flatMap(({ text }) => text ?? [])
    return texts.length === 0 ? accepted : ok(`[${texts.join(",")}]`)
  })

/** Logs a message that reached no operation. */
const logMessage = (
  { credentials, request_id }: Posted,
  transport: FinishedCall.Transport & { readonly status: number },
  error_code: ApiError.ErrorCode | null
) => Pipeline.logUnrouted({ request_id, credentials, transport, error_code })

/** The error code in the request log for a refusal of the protocol itself; null for an answer. */
const codeOf = (status: number): ApiError.ErrorCode | null =>
  status < 400 ? null : status === 404 ? "not_found" : "invalid_input"

const transportOf = ({ transport }: Posted, client: Protocol.Client | null, status: number) => ({
  ...transport,
  status,
  client_name: client?.name ?? null,
  client_version: client?.version ?? null
})

const routingHeaders = ({ headers }: Posted): Protocol.RoutingHeaders => ({
  version: headers["mcp-protocol-version"] ?? null,
  method: headers["mcp-method"] ?? null,
  name: headers["mcp-name"] ?? null
})

/** The HTTP status of a method's error: 200 (api.md, Agent endpoint), but 404 for an unknown method in modern revisions. */
const statusOf = (era: Protocol.Era, { code }: JsonRpc.RpcError): number =>
  era === "modern" && code === JsonRpc.codes.method_not_found ? 404 : 200

const noHeaders: Readonly<Record<string, string>> = {}

const ok = (text: string, headers: Readonly<Record<string, string>> = noHeaders): Reply => ({
  status: 200,
  headers,
  text
})

const failed = (id: JsonRpc.Id | null, error: JsonRpc.RpcError, status: number): Reply => ({
  status,
  headers: noHeaders,
  text: JsonRpc.failure({ id, error })
})

const accepted: Reply = { status: 202, headers: noHeaders, text: null }
