import { ApiError, Argument, type Caller, type FinishedCall, Ids, Pipeline } from "@quotewire/core"
import { type Context, Effect, Result, Schema } from "effect"
import * as Peer from "../forms/Peer.ts"
import * as StreamedForm from "../forms/StreamedForm.ts"
import * as Form from "../protocol/Form.ts"
import * as JsonRpc from "../protocol/JsonRpc.ts"
import * as Protocol from "../protocol/Protocol.ts"
import * as Session from "../protocol/Session.ts"
import * as Tool from "../tools/Tool.ts"
import * as Server from "./Server.ts"

/** The sender and the headers of a `POST` request. */
export interface Head extends Pipeline.RequestHead {
  readonly caller: Caller.Caller
  /** The kinds of caller that the sender could become by signing in; empty if the sender cannot sign in. */
  readonly obtainable_kinds: ReadonlyArray<Caller.CallerKind>
  /** The address of the documentation, without a trailing slash. */
  readonly docs_url: string
  /** How the request arrived, for the request log. */
  readonly transport: FinishedCall.Transport
  /** The headers that `request_headers` lists, by lower-case name; null for a header that was not sent. */
  readonly headers: Readonly<Record<string, string | null>>
}

/** A `POST` request whose body the host has read. */
export interface Posted extends Head {
  /** The body as JSON. If it is not JSON, the failure's message says why. */
  readonly body: Result.Result<unknown, { readonly message: string }>
}

/**
 * The response to a `POST` request: a JSON-RPC message, with the HTTP status and headers. `text` is null if there is no
 * body.
 */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string | null
  /**
   * Sends a stream of events instead of `text`: each message, and the response last. Interrupting the effect cancels
   * the call.
   */
  readonly events?: (send: (text: string) => void) => Effect.Effect<void>
}

/** Settings of an endpoint besides its server's settings. */
export interface Settings<R> extends Server.Settings<R> {
  /** Signs a session ID, so that every host can verify it. */
  readonly sign: (text: string) => Effect.Effect<string, never, R>
  readonly isSigned: (text: string, signature: string) => Effect.Effect<boolean, never, R>
  /**
   * Passes the answers to forms to the host that waits for them. Without mailboxes, only clients of MCP 2026-07-28 are
   * shown forms. Other clients answer a form with a separate request, which may reach a different host.
   */
  readonly mailboxes?: StreamedForm.Mailboxes<R>
}

/** The agent endpoint, independent of the HTTP server. A host reads the requests and sends the responses. */
export interface Endpoint<out R> {
  /** The paths to serve. Some client programs add a trailing slash. */
  readonly paths: readonly [string, ...ReadonlyArray<string>]
  /** The MCP headers that the endpoint reads. */
  readonly request_headers: ReadonlyArray<string>
  /** The MCP headers that the endpoint sends. */
  readonly answer_headers: ReadonlyArray<string>
  /** The body of the response to methods other than `POST`. */
  readonly only_post: string
  /**
   * Answers a message, a batch, or a response to a form, and logs the request. Interrupting the effect cancels the
   * call.
   *
   * Fails with `authentication_failed` if the key has become invalid since the host checked it. Fails with `forbidden`
   * if the caller may not call the tool but could after signing in as one of its `obtainable_kinds`; the host then asks
   * the caller to sign in. For the answer to a form, fails with `rate_limited`, or with `service_unavailable` if the
   * answer cannot be stored.
   */
  readonly answer: (posted: Posted) => Effect.Effect<Reply, ApiError.ApiError, R | Pipeline.PipelineServices | Ids.Ids>
}

const checkSettings = Argument.checker(
  "Endpoint.make",
  Schema.Struct({
    tools: Schema.Array(Tool.Shape),
    version: Schema.String,
    sign: Argument.Callable,
    isSigned: Argument.Callable
  })
)

/** Creates the agent endpoint (api.md, Agent endpoint). It keeps no state between requests. */
export const make = <R>(settings: Settings<R>): Endpoint<R> => {
  checkSettings(settings)
  const sessions = makeSessions(settings)
  const { asking, mailboxes } = settings
  const forms = asking === undefined || mailboxes === undefined ? null : { crypto: asking, mailboxes }
  const answerOne = makeAnswerOne(Server.make(settings), sessions, forms)
  const answerBatch = makeAnswerBatch(answerOne)
  const takeResponse = makeTakeResponse(sessions, forms)
  return {
    paths: [Protocol.path, `${Protocol.path}/`],
    request_headers: ["Accept", "Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version", "Mcp-Session-Id"],
    answer_headers: ["Mcp-Session-Id"],
    only_post: JsonRpc.failure(onlyPost),
    answer: ({ body, ...head }) => {
      const hasBatches = Protocol.hasBatches(routingHeaders(head).version)
      const json = Result.mapError(body, ({ message }) => JsonRpc.unparsable(message))
      const read = Result.flatMap(json, (value) => JsonRpc.readBody(value, hasBatches))
      if (Result.isFailure(read)) {
        const { error, id } = read.failure
        return Effect.as(logMessage(head, transportOf(head, null, 400), "invalid_json"), failed(id, error, 400))
      }
      if ("method" in read.success) return answerOne(head, read.success)
      if ("result" in read.success) return takeResponse(head, read.success)
      return answerBatch(
        head,
        // Drops unused parameters, because all messages of a batch stay in memory until the last one has its response.
        read.success.map((item) =>
          Result.map(Result.flatMap(item, Protocol.checkBatchMember), (message) =>
            Protocol.withoutUnread(message, "legacy")
          )
        )
      )
    }
  }
}

const onlyPost: JsonRpc.ErrorAnswer = {
  id: null,
  error: { code: JsonRpc.codes.invalid_request, message: "Only POST is supported here." }
}

/**
 * Reads and creates session IDs, which contain what a client declared in the handshake. A session ID is valid only with
 * its signature.
 */
const makeSessions = <R>({ isSigned, sign }: Pick<Settings<R>, "isSigned" | "sign">) => ({
  /** Returns what the client declared in the handshake, from this request's session ID. */
  read: Effect.fnUntraced(function* ({ headers }: Head) {
    const session = headers["mcp-session-id"] ?? null
    const token = session === null ? null : Session.read(session)
    if (token === null) return Protocol.nobody
    return (yield* isSigned(token.payload, token.signature)) ? token.session : Protocol.nobody
  }),
  /** The header with the session ID; no header if the client did not give its name. */
  headersFor: Effect.fnUntraced(function* ({ client, ...declared }: Protocol.Introduction) {
    if (client === null) return noHeaders
    const session = { client, ...declared }
    return { "mcp-session-id": Session.write(session, yield* sign(Session.payloadOf(session))) }
  })
})
type Sessions<R> = ReturnType<typeof makeSessions<R>>

const makeAnswerOne = <R>(
  server: Server.Server<R>,
  sessions: Sessions<R>,
  forms: StreamedForm.FormServices<R> | null
) => {
  const programOf = (head: Head, message: JsonRpc.Message, era: Protocol.Era) => {
    if (era === "modern") return Effect.succeed(Protocol.readMeta(message))
    if (message.method !== "initialize") return sessions.read(head)
    return Effect.succeed(Protocol.readHandshake(message.params))
  }
  const answer = Effect.fnUntraced(function* (head: Head, message: JsonRpc.Message, context: MessageContext) {
    const { caller, credentials, docs_url, obtainable_kinds, request_id } = head
    const { checked, era, program } = context
    const { client, shows_views } = program
    const logged = (reply: Reply) => Effect.as(logReply(head, client, reply), reply)
    if (Result.isFailure(checked)) return yield* logged(failed(message.id, checked.failure, 400))
    const sender: Server.Sender = {
      request_id,
      credentials,
      docs_url,
      caller,
      obtainable_kinds,
      era,
      transport: transportOf(head, client, 200),
      // After a handshake, forms are events in the response, so the client must accept event streams.
      elicits: program.elicits && (era === "modern" || (forms !== null && acceptsEvents(head))),
      shows_views,
      notify: null
    }
    /** Shows a call's forms as events, one after the other, until the call ends. */
    const finish = (outcome: Server.Outcome<R>, send: Peer.SendMessage) => {
      if (outcome._tag !== "asking") return Effect.succeed(outcome)
      return outcome.finish(forms === null ? Form.askNobody : StreamedForm.askOver(forms, caller, send))
    }
    if (wantsProgress(head, message)) {
      return yield* streamed(head, message, sender, (send) =>
        // The HTTP status 200 has already been sent, so the response can no longer be a challenge to sign in.
        server
          .answer(message, { ...sender, obtainable_kinds: [], notify: Peer.notifyWith(send) })
          .pipe(Effect.flatMap((outcome) => finish(outcome, send)))
      )
    }
    const answered = yield* server.answer(message, sender)
    if (answered._tag === "asking") {
      return yield* streamed(head, message, sender, (send) => finish(answered, send))
    }
    if (answered._tag === "nothing" || message.id === null) return yield* logged(accepted)
    if (answered._tag === "error")
      return yield* logged(failed(message.id, answered.error, statusOf(era, answered.error)))
    const text = JsonRpc.result(message.id, answered.text)
    // The call is not logged here, because the tool's operation has already logged it.
    if (message.method === "tools/call") return ok(text)
    return yield* logged(ok(text, message.method === "initialize" ? yield* sessions.headersFor(program) : noHeaders))
  })
  return (head: Head, message: JsonRpc.Message) => {
    const headers = routingHeaders(head)
    const era = Protocol.eraOf(message, headers.version)
    const checked = Protocol.check(era, message, headers)
    // Drops the parameters that no method reads: a call can wait for minutes, and a parsed body can take several
    // megabytes.
    const part = Protocol.withoutUnread(message, era)
    return Effect.flatMap(programOf(head, message, era), (program) => answer(head, part, { checked, era, program }))
  }
}

/** What is known about a message before its method runs. */
interface MessageContext {
  readonly era: Protocol.Era
  readonly program: Protocol.Introduction
  readonly checked: Result.Result<void, JsonRpc.RpcError>
}

/**
 * Creates the function that handles the response to a form. It replies the same whether or not the response was used,
 * because strangers must not learn which forms are open.
 */
const makeTakeResponse = <R>(sessions: Sessions<R>, forms: StreamedForm.FormServices<R> | null) =>
  Effect.fnUntraced(function* (head: Head, response: JsonRpc.Response) {
    const checked = Protocol.checkResponse(routingHeaders(head))
    const { client } = yield* sessions.read(head)
    if (Result.isSuccess(checked) && forms !== null) {
      const paid = Effect.tapError(Pipeline.spendUnrouted(head, head.caller), ({ _tag, status }) =>
        logMessage(head, transportOf(head, client, status), _tag)
      )
      yield* StreamedForm.takeAnswer(forms, head.caller, response, paid)
    }
    const reply = Result.isSuccess(checked) ? accepted : failed(null, checked.failure, 400)
    return yield* Effect.as(logReply(head, client, reply), reply)
  })

/**
 * Whether the response is a stream that reports progress: the call has a progress token, and the client accepts event
 * streams.
 */
const wantsProgress = (head: Head, message: JsonRpc.Message): boolean =>
  message.id !== null &&
  message.method === "tools/call" &&
  Protocol.progressTokenOf(message) !== null &&
  acceptsEvents(head)

/** Whether the `Accept` header accepts event streams. */
const acceptsEvents = ({ headers }: Head): boolean =>
  (headers.accept ?? "")
    .split(",")
    .some((range) => /^\s*text\/event-stream\s*(;|$)/i.test(range) && !/;\s*q=0(\.0*)?\s*$/i.test(range))

/** Responds to a call with server-sent events: the messages that it sends while it runs, then its response. */
const streamed = <R>(
  head: Head,
  message: JsonRpc.Message,
  { docs_url, request_id, transport }: Server.Sender,
  run: (send: Peer.SendMessage) => Effect.Effect<Server.ServerAnswer, ApiError.ApiError, R>
) =>
  Effect.contextWith((context: Context.Context<R | Pipeline.PipelineServices>) => {
    const events = (send: (text: string) => void) =>
      run((text) => Effect.sync(() => send(text))).pipe(
        // Logs the failure only if the call did not reach its tool. Otherwise the operation has logged it.
        Effect.tap(({ _tag }) =>
          _tag === "error" ? logMessage(head, { ...transport, status: 200 }, null) : Effect.void
        ),
        Effect.catch((error) => Effect.succeed(Server.refused(ApiError.envelope(error, request_id, docs_url)))),
        Effect.flatMap((outcome) => Effect.sync(() => send(Server.textOf(message.id, outcome) ?? ""))),
        Effect.provideContext(context)
      )
    return Effect.succeed<Reply>({ status: 200, headers: noHeaders, text: null, events })
  })

/**
 * Creates the function that handles the messages of a batch concurrently. Each message is treated as a separate
 * request, including in the request log.
 */
const makeAnswerBatch = <R>(
  answer: (head: Head, message: JsonRpc.Message) => Effect.Effect<Reply, ApiError.ApiError, R>
) =>
  Effect.fnUntraced(function* (head: Head, batch: JsonRpc.Batch) {
    const ids = yield* Ids.Ids
    const answerOne = Effect.fnUntraced(function* (message: JsonRpc.Batch[number], index: number) {
      // All responses are sent in one JSON list, so no response may be a stream of events or a challenge to sign in. A
      // challenge would replace the list even though other messages have taken effect.
      const single = { ...head, headers: { ...head.headers, accept: null }, obtainable_kinds: [] }
      const messageRequest = index === 0 ? single : { ...single, request_id: ids.request() }
      if (Result.isSuccess(message)) return yield* answer(messageRequest, message.success)
      yield* logMessage(messageRequest, transportOf(messageRequest, null, 200), "invalid_json")
      return failed(message.failure.id, message.failure.error, 200)
    })
    const answers = yield* Effect.forEach(batch, answerOne, { concurrency: "unbounded" })
    const texts = answers.flatMap(({ text }) => text ?? [])
    return texts.length === 0 ? accepted : ok(`[${texts.join(",")}]`)
  })

/** Logs a message that reached no operation. Operations log their own calls. */
const logMessage = (
  { credentials, request_id }: Head,
  transport: FinishedCall.Transport & { readonly status: number },
  error_code: ApiError.ErrorCode | null
) => Pipeline.logUnrouted({ request_id, credentials, transport, error_code })

/** Logs a message by the status of its reply. */
const logReply = (head: Head, client: Protocol.Client | null, { status }: Reply) =>
  logMessage(head, transportOf(head, client, status), codeOf(status))

/** The error code in the request log for an HTTP status of the protocol itself; null if the status is not an error. */
const codeOf = (status: number): ApiError.ErrorCode | null =>
  status < 400 ? null : status === 404 ? "not_found" : "invalid_input"

const transportOf = ({ transport }: Head, client: Protocol.Client | null, status: number) => ({
  ...transport,
  status,
  client_name: client?.name ?? null,
  client_version: client?.version ?? null
})

const routingHeaders = ({ headers }: Head): Protocol.RoutingHeaders => ({
  version: headers["mcp-protocol-version"] ?? null,
  method: headers["mcp-method"] ?? null,
  name: headers["mcp-name"] ?? null
})

/**
 * The HTTP status of a method's error: 200 (api.md, Protocol errors), except 404 for an unknown method in modern
 * revisions.
 */
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
