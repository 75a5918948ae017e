import { HttpAddress, Json } from "@quotewire/core/program"
import { ByteSize, Data, Effect, FiberMap, Option, Predicate, Ref, Result, Schedule, Schema, Stream } from "effect"
import { Sse } from "effect/encoding"
import { HttpClient, HttpClientRequest } from "effect/http"
import type * as Peer from "../forms/Peer.ts"
import * as Form from "../protocol/Form.ts"
import * as JsonRpc from "../protocol/JsonRpc.ts"
import * as Protocol from "../protocol/Protocol.ts"

/** Which host a bridge calls, and with which key. */
export interface Settings {
  /** The host's address, without a trailing slash. */
  readonly base_url: string
  /** The API key; null to call without a key. */
  readonly key: string | null
}

/**
 * The rule for a host's address. It completes an error message that begins with the setting's name and "must".
 */
export const hostRule =
  "be the host's address, such as https://quotes.example.com, without /v1/mcp, a query, a user or a password"

/** Reads a host's address and removes trailing slashes. `None` if it breaks `hostRule`. */
export const readHost = (text: string): Option.Option<string> =>
  Option.filter(Result.getSuccess(HttpAddress.readBase(text)), (address) => !address.endsWith(Protocol.path))

/**
 * How long a host may send nothing before it is considered unreachable, in milliseconds. Even the longest advance of
 * a sandbox's clock takes less time.
 */
const silenceMs = 120_000

/** The largest response that is read, in bytes. `connect` has the same limit. */
const maxAnswerBytes = 32 * 1024 * 1024

/**
 * When to retry sending the answer to a form: after 1, 2, 4, 8, 16 and 32 seconds. Together these pauses are longer
 * than a per-minute rate limit. The person cannot answer again, and the host ignores an answer that arrives twice.
 */
const formRetries = { schedule: Schedule.exponential("1 second"), times: 6 }

const isTemporary = (status: number): boolean => status >= 500 || status === 408 || status === 429

/**
 * How many of the host's requests the bridge answers during one call. A well-behaved host sends a few forms; a hostile
 * host could send any number.
 */
const maxReplies = 16

/** The maximum length of a request ID, in characters. It is limited because every response repeats the ID. */
const maxId = 512

/**
 * How many forms of one call may be open or being answered at the same time. A well-behaved host sends one form at a
 * time. A hostile host could send any number, and each form would keep its answer in memory until the host accepts the
 * answer.
 */
const maxForms = 4

/** Forwards a message to the host. Returns the host's response as one line; null for a notification. */
type Answer = (
  message: JsonRpc.Message,
  line: string,
  peer: Peer.Peer
) => Effect.Effect<string | null, never, HttpClient.HttpClient>

/** Creates the `answer` function for `StdioServer.serve` that calls a host over HTTP. */
export const make: (settings: Settings) => Effect.Effect<Answer, never, HttpClient.HttpClient> = Effect.fnUntraced(
  function* ({ base_url, key }) {
    const client = yield* HttpClient.HttpClient
    const session = yield* Ref.make<string | null>(null)
    const post = Effect.fnUntraced(function* (line: string, headers: Readonly<Record<string, string>>) {
      const sessionId = yield* Ref.get(session)
      const request = HttpClientRequest.post(`${base_url}${Protocol.path}`).pipe(
        HttpClientRequest.setHeaders({
          accept: "application/json, text/event-stream",
          ...(key !== null && { authorization: `Bearer ${key}` }),
          ...(sessionId !== null && { "mcp-session-id": sessionId }),
          ...headers
        }),
        HttpClientRequest.bodyText(line, "application/json")
      )
      return yield* Effect.timeout(client.execute(request), silenceMs)
    })
    const reply = (response: object) =>
      Effect.filterOrFail(
        post(JSON.stringify({ jsonrpc: "2.0", ...response }), {}),
        ({ status }) => !isTemporary(status)
      )
    const exchange = Effect.fnUntraced(function* (message: JsonRpc.Message, line: string, peer: Peer.Peer) {
      const response = yield* post(line, Protocol.headersFor(message))
      const { headers, status } = response
      if (message.method === "initialize") yield* Ref.set(session, headers["mcp-session-id"] ?? null)
      if (headers["content-type"]?.startsWith("text/event-stream") === true) {
        return { status, text: yield* Effect.scoped(answerIn(response.stream, message.id, peer, reply)) }
      }
      const text = yield* Effect.timeout(textOf(response.stream), silenceMs).pipe(
        Effect.catch((error) => (error._tag === "Unusable" ? Effect.fail(error) : Effect.succeed("")))
      )
      return { status, text }
    })
    return Effect.fnUntraced(function* (message: JsonRpc.Message, line: string, peer: Peer.Peer) {
      const { id } = message
      const answer = yield* exchange(message, line, peer).pipe(
        Effect.catchTag("Unusable", (unusable) =>
          Effect.succeed({ status: 200, text: id === null ? null : refused(id, unusable.message) })
        ),
        Effect.option
      )
      if (id === null) return null
      return Option.match(answer, {
        onNone: () => unreachable(id, base_url),
        onSome: ({ status, text }) => (text === null ? unreachable(id, base_url) : answerOf(id, status, text))
      })
    })
  }
)

/** Reads the body of a response that is not an event stream. */
const textOf = <E, R>(stream: Stream.Stream<Uint8Array, E, R>): Effect.Effect<string, E | Unusable, R> => {
  const failing = Stream.mapError(stream, (error): E | Unusable => error)
  const limited = Stream.limitBytes(failing, ByteSize.bytes(maxAnswerBytes), () => Stream.fail(tooLarge()))
  return Stream.mkString(Stream.decodeText(limited))
}

/** The host's response cannot be used. The call fails with this message. */
class Unusable extends Data.TaggedError("Unusable")<{ readonly message: string }> {}

const tooLarge = () => new Unusable({ message: "The host's response is larger than 32 MiB." })
const tooMany = () =>
  new Unusable({ message: "The host sent too many requests, or a request that cannot be answered." })

/**
 * Reads events until one of them responds to the message, and returns that event's text; null if no event does. While
 * it reads, shows forms to the person, sends the person's answers with `reply`, and forwards notifications to the
 * client program.
 */
const answerIn = Effect.fnUntraced(function* <E, E2, R>(
  stream: Stream.Stream<Uint8Array, E>,
  messageId: JsonRpc.Id | null,
  peer: Peer.Peer,
  reply: (response: object) => Effect.Effect<unknown, E2, R>
) {
  const forms = yield* FiberMap.make<unknown>()
  let requests = 0
  const take = Effect.fnUntraced(function* ({ data }: Sse.Event) {
    if (data.length > maxAnswerBytes) return yield* tooLarge()
    const json = parse(data)
    const read = JsonRpc.readBody(json, false)
    if (Result.isFailure(read)) return null
    if (!("method" in read.success)) return messageId === null ? null : answerTo(messageId, data, json)
    const { id, method, params } = read.success
    if (id === null) {
      // The host withdraws a form. The client program knows the form by a different ID, so the form's fiber informs it
      // when the fiber ends.
      if (method === "notifications/cancelled") yield* FiberMap.remove(forms, params.requestId)
      else yield* peer.notify(method, params)
      return null
    }
    requests += 1
    if (requests > maxReplies || String(id).length > maxId) return yield* tooMany()
    if (method === Form.method && (yield* FiberMap.size(forms)) < maxForms) {
      yield* FiberMap.run(
        forms,
        id,
        Effect.flatMap(peer.ask(params), (result) => Effect.ignore(Effect.retry(reply({ id, result }), formRetries)))
      )
    } else yield* Effect.ignore(reply({ id, error: method === Form.method ? tooManyForms : notServed }))
    return null
  })
  const answer = yield* stream.pipe(
    Stream.timeout(silenceMs),
    Stream.decodeText(),
    Stream.pipeThroughChannel(Sse.decode({ maxEventSize: maxAnswerBytes })),
    Stream.mapError((error) => (error instanceof Sse.SseError ? tooLarge() : error)),
    Stream.mapEffect(take),
    Stream.filter(Predicate.isNotNull),
    Stream.runHead
  )
  return Option.getOrNull(answer)
})

const notServed: JsonRpc.RpcError = {
  code: JsonRpc.codes.method_not_found,
  message: "This method is not supported."
}

const tooManyForms: JsonRpc.RpcError = { code: JsonRpc.codes.refused, message: "Too many forms are open." }

/**
 * Reads the response to the message with this ID, as one line; null if the text does not respond to that message.
 *
 * If the host could not read the message, its response has a null ID. The null is replaced with `id`.
 */
const answerTo = (id: JsonRpc.Id, text: string, json: unknown): string | null => {
  const read = JsonRpc.readBody(json, false)
  if (!Predicate.isObject(json) || Result.isFailure(read) || !("result" in read.success)) return null
  if (read.success.id === null) return JSON.stringify({ ...json, id })
  return read.success.id === id ? text.replaceAll(/[\r\n]/g, " ") : null
}

/**
 * The fields of an error envelope that the bridge reads. It passes all other fields on unchanged, including fields of
 * newer hosts.
 */
const Envelope = Schema.Struct({
  error: Schema.StructWithRest(Schema.Struct({ code: Schema.String, message: Schema.String }), [
    Schema.Record(Schema.String, Schema.Unknown)
  ])
})

const readEnvelope = Schema.decodeUnknownOption(Envelope)

/** The maximum nesting depth of a response. Serializing a deeper response would overflow the stack. */
const maxLevels = 500

/** Parses a response as JSON; null if it is not JSON or nested too deeply. */
const parse = (text: string): unknown => {
  const json = Result.getOrNull(JsonRpc.parseJson(text))
  return Json.isDeeper(json, maxLevels) ? null : json
}

/**
 * The host's response as one line. If the host, or a proxy in front of it, does not respond with JSON-RPC, the line is
 * a JSON-RPC error.
 */
const answerOf = (id: JsonRpc.Id, status: number, text: string): string => {
  const json = parse(text)
  const answer = answerTo(id, text, json)
  if (answer !== null) return answer
  return Option.match(readEnvelope(json), {
    onNone: () => refused(id, `The host returned HTTP ${status}.`),
    onSome: (envelope) => refused(id, `Refused (${envelope.error.code}): ${envelope.error.message}`, envelope)
  })
}

const unreachable = (id: JsonRpc.Id, baseUrl: string): string => refused(id, `Cannot reach the host at ${baseUrl}.`)

const refused = (id: JsonRpc.Id, message: string, data?: typeof Envelope.Type): string =>
  JsonRpc.failure({ id, error: { code: JsonRpc.codes.refused, message, ...(data !== undefined && { data }) } })
