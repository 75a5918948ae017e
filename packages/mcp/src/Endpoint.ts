import { ApiError, type Caller, type FinishedCall, Ids, Pipeline, ServedRevisions } from "@quotewire/core"
import { Effect, Result } from "effect"
import * as JsonRpc from "./JsonRpc.ts"
import * as Origins from "./Origins.ts"
import * as Protocol from "./Protocol.ts"
import * as Server from "./Server.ts"
import * as Session from "./Session.ts"

/** The largest message, in bytes (api.md, Errors: `request_too_large`). */
export const max_bytes = 256 * 1024

/** Where the endpoint stands. */
export const path = "/v1/mcp"

/** The paths that a host answers: some programs put a slash at the end. */
export const paths = [path, `${path}/`] as const

/** A request over HTTP, of whatever server. */
export interface Incoming {
  readonly request_id: Ids.RequestId
  readonly method: string
  /** Header names are in lower case. */
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  /** The address of the other side. */
  readonly address: string
  /** Where the documentation stands, without a slash at the end. */
  readonly docs_url: string
  /** Reads the body, of at most `max_bytes`. */
  readonly body: Effect.Effect<Uint8Array, ApiError.ApiError>
}

/** The answer to it. */
export interface Outgoing {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

/** What an endpoint needs to know beyond its server. */
export interface Settings<R> extends Server.Settings<R> {
  readonly origins: Origins.Origins
  /** Signs text, so that every host knows it again. */
  readonly sign: (text: string) => Effect.Effect<string, never, R>
  readonly isSigned: (text: string, signature: string) => Effect.Effect<boolean, never, R>
}

/** What answers `POST /v1/mcp`. */
export interface Endpoint<R> {
  /**
   * Answers one request; to interrupt it cancels the call.
   *
   * It fails where the message is not looked at: the caller or the origin is not let in, or the body is too large.
   */
  readonly handle: (
    incoming: Incoming
  ) => Effect.Effect<Outgoing, ApiError.ApiError, R | Pipeline.PipelineServices | Ids.Ids>
}

/** The agent endpoint over HTTP (api.md, Agent endpoint): JSON in, JSON out, and nothing kept between two requests. */
export const make = <R>(settings: Settings<R>): Endpoint<R> => {
  const server = Server.make(settings)
  const clientOf = Effect.fnUntraced(function* (session: string | null) {
    const claim = session === null ? null : Session.read(session)
    if (claim === null) return null
    return (yield* settings.isSigned(claim.payload, claim.signature)) ? claim.client : null
  })
  /** Who the client of the era of handshakes says that it is: when it introduces itself, or in its session. */
  const clientIn = (incoming: Incoming, message: JsonRpc.Message) => {
    if (message.method === "initialize") return Effect.succeed(Protocol.clientOf(message.params.clientInfo))
    return clientOf(header(incoming, "mcp-session-id"))
  }
  const sessionHeaders = Effect.fnUntraced(function* (message: JsonRpc.Message) {
    const client = Protocol.clientOf(message.params.clientInfo)
    if (client === null) return noHeaders
    return { "mcp-session-id": Session.write(client, yield* settings.sign(Session.payloadOf(client))) }
  })
  const answer = Effect.fnUntraced(function* (incoming: Incoming, caller: Caller.Caller, message: JsonRpc.Message) {
    const coming = comingFrom(incoming)
    const headers = routingHeaders(incoming)
    const era = Protocol.eraOf(message, headers.version)
    const client = era === "modern" ? Protocol.clientNamedIn(message) : yield* clientIn(incoming, message)
    const via = viaOf(incoming, client)
    const noted = (outgoing: Outgoing) =>
      Effect.as(note(incoming, { ...via, status: outgoing.status }, codeOf(outgoing.status)), outgoing)
    const checked = Protocol.check(era, message, headers)
    if (Result.isFailure(checked)) return yield* noted(failed(message.id, checked.failure, 400))
    const outcome = yield* server.answer(message, { ...coming, caller, era, via })
    if (outcome._tag === "nothing" || message.id === null) return yield* noted(accepted)
    if (outcome._tag === "error") return yield* noted(failed(message.id, outcome.error, statusOf(era, outcome.error)))
    const text = JsonRpc.result(message.id, outcome.text)
    // The operation of a tool has noted the call itself.
    if (message.method === "tools/call") return json(200, text)
    return yield* noted(json(200, text, message.method === "initialize" ? yield* sessionHeaders(message) : noHeaders))
  })
  const answerBatch = batchWith(answer)
  const handle = Effect.fnUntraced(function* (incoming: Incoming) {
    const origin = header(incoming, "origin")
    if (origin !== null && !Origins.isAllowed(settings.origins, origin)) return yield* forbiddenOrigin
    if (incoming.method === "OPTIONS" && origin !== null) return preflight
    if (incoming.method !== "POST") {
      return yield* Effect.as(note(incoming, { ...viaOf(incoming, null), status: 405 }, "not_found"), onlyPost)
    }
    const { credentials, request_id } = comingFrom(incoming)
    const caller = yield* Pipeline.identify({ request_id, credentials: { ...credentials, read_handle: null } })
    const parse = Protocol.hasBatches(routingHeaders(incoming).version) ? JsonRpc.parseBody : JsonRpc.parse
    const read = Result.flatMap(textOf(incoming, yield* incoming.body), parse)
    if (Result.isSuccess(read)) {
      return yield* "method" in read.success
        ? answer(incoming, caller, read.success)
        : answerBatch(incoming, caller, read.success)
    }
    const outgoing = failed(read.failure.id, read.failure.error, 400)
    return yield* Effect.as(note(incoming, { ...viaOf(incoming, null), status: 400 }, "invalid_json"), outgoing)
  })
  return {
    handle: (incoming) =>
      handle(incoming).pipe(
        Effect.flatMap((outgoing) => inCurrent(readable(outgoing, header(incoming, "origin")))),
        Effect.tapError((error) =>
          isStranger(error)
            ? Effect.void
            : note(incoming, { ...viaOf(incoming, null), status: error.status }, error._tag)
        )
      )
  }
}

/** Answers the messages of a batch side by side. Each is a request of its own, in the request log too. */
const batchWith = <R>(
  answer: (
    incoming: Incoming,
    caller: Caller.Caller,
    message: JsonRpc.Message
  ) => Effect.Effect<Outgoing, ApiError.ApiError, R>
) =>
  Effect.fnUntraced(function* (incoming: Incoming, caller: Caller.Caller, batch: JsonRpc.Batch) {
    const ids = yield* Ids.Ids
    const answerOne = Effect.fnUntraced(function* (read: JsonRpc.Batch[number], index: number) {
      const own = index === 0 ? incoming : { ...incoming, request_id: ids.request() }
      const message = Result.flatMap(read, batched)
      if (Result.isSuccess(message)) return yield* answer(own, caller, message.success)
      yield* note(own, viaOf(own, null), "invalid_json")
      return failed(message.failure.id, message.failure.error, 200)
    })
    const answers = yield* Effect.forEach(batch, answerOne, { concurrency: "unbounded" })
    const bodies = answers.flatMap(({ body }) => body ?? [])
    return bodies.length === 0 ? accepted : json(200, `[${bodies.join(",")}]`)
  })

/** A message of a batch: no handshake, and nothing of the revisions that have no batches. */
const batched = (message: JsonRpc.Message): Result.Result<JsonRpc.Message, JsonRpc.Unreadable> =>
  message.method !== "initialize" && Protocol.eraOf(message, null) === "legacy"
    ? Result.succeed(message)
    : Result.fail({
        id: message.id,
        error: { code: JsonRpc.codes.invalid_request, message: "This message cannot be part of a batch." }
      })

/** Every answer is in the current revision, and says so (api.md, Versioning 6). */
const inCurrent = (outgoing: Outgoing): Effect.Effect<Outgoing> =>
  Effect.map(ServedRevisions.ServedRevisions, ([newest]) => ({
    ...outgoing,
    headers: { ...outgoing.headers, "service-version": newest.date }
  }))

/** Lets the page that called read the answer: its origin is allowed, or it would have none. */
const readable = (outgoing: Outgoing, origin: string | null): Outgoing =>
  origin === null ? outgoing : { ...outgoing, headers: { ...outgoing.headers, ...Origins.readableBy(origin) } }

/** Whether a refusal is that of a caller whose key was refused, and counted: it must not be looked up once more. */
const isStranger = ({ _tag }: ApiError.ApiError): boolean => _tag === "authentication_failed" || _tag === "rate_limited"

/** Takes note of a request that has reached no operation; of a key that is not valid nothing is noted. */
const note = (
  incoming: Incoming,
  via: FinishedCall.Transport & { readonly status: number },
  error_code: ApiError.ErrorCode | null
) => {
  const { credentials, request_id } = comingFrom(incoming)
  return Pipeline.note({ request_id, credentials: { ...credentials, read_handle: null }, via, error_code })
}

/** What the request log calls a refusal of the protocol itself, which has codes of its own; null for an answer. */
const codeOf = (status: number): ApiError.ErrorCode | null =>
  status < 400 ? null : status === 404 ? "not_found" : "invalid_input"

const viaOf = (incoming: Incoming, client: Protocol.Client | null) => ({
  method: incoming.method,
  route: path,
  status: 200,
  user_agent: header(incoming, "user-agent"),
  client_name: client?.name ?? null,
  client_version: client?.version ?? null
})

const header = ({ headers }: Incoming, name: string): string | null => {
  const value = headers[name]
  return typeof value === "string" ? value.trim() : null
}

const routingHeaders = (incoming: Incoming): Protocol.RoutingHeaders => ({
  version: header(incoming, "mcp-protocol-version"),
  method: header(incoming, "mcp-method"),
  name: header(incoming, "mcp-name")
})

const comingFrom = (incoming: Incoming) => ({
  request_id: incoming.request_id,
  docs_url: incoming.docs_url,
  credentials: { key: keyOf(header(incoming, "authorization")), address: incoming.address, keyless: true }
})

/** Null where no header was sent; a header without a bearer's key is a key that is wrong. */
const keyOf = (authorization: string | null): string | null =>
  authorization === null ? null : (/^bearer +([^\s,]+)$/i.exec(authorization)?.[1] ?? "")

/** Errors of a method are answered with 200 (api.md, Agent endpoint); modern clients tell an unknown one by 404. */
const statusOf = (era: Protocol.Era, { code }: JsonRpc.RpcError): number =>
  era === "modern" && code === JsonRpc.codes.method_not_found ? 404 : 200

const utf8 = new TextDecoder("utf-8", { fatal: true })

const textOf = (incoming: Incoming, body: Uint8Array): Result.Result<string, JsonRpc.Unreadable> => {
  const encoding = header(incoming, "content-encoding") ?? "identity"
  const type = header(incoming, "content-type") ?? "application/json"
  if (encoding.toLowerCase() !== "identity" || !jsonType.test(type)) return Result.fail(JsonRpc.notJson)
  return Result.try({ try: () => utf8.decode(body), catch: () => JsonRpc.notJson })
}

const jsonType = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-?8"?\s*)?;?$/i

const noHeaders: Readonly<Record<string, string>> = {}

/** Answers belong to one caller and are never cached. */
const json = (status: number, body: string, headers: Readonly<Record<string, string>> = noHeaders): Outgoing => ({
  status,
  headers: {
    "content-type": "application/json",
    "cache-control": "no-store",
    ...headers
  },
  body
})

const failed = (id: JsonRpc.Id | null, error: JsonRpc.RpcError, status: number): Outgoing =>
  json(status, JsonRpc.failure({ id, error }))

const accepted: Outgoing = { status: 202, headers: noHeaders, body: null }

const preflight: Outgoing = { status: 204, headers: Origins.preflight, body: null }

const onlyPost: Outgoing = json(
  405,
  JsonRpc.failure({ id: null, error: { code: JsonRpc.codes.invalid_request, message: "Only POST is served here." } }),
  { allow: "POST" }
)

const forbiddenOrigin = Effect.fail(
  ApiError.make("forbidden", { message: "Pages of this origin may not call this endpoint." })
)
