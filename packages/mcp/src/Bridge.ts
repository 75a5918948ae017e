import { HttpAddress } from "@quotewire/core/program"
import { ByteSize, Effect, FiberMap, Option, Predicate, Ref, Result, Schedule, Schema, Stream } from "effect"
import { Sse } from "effect/encoding"
import { HttpClient, HttpClientRequest } from "effect/http"
import * as Form from "./asking/Form.ts"
import type * as Peer from "./asking/Peer.ts"
import * as JsonRpc from "./JsonRpc.ts"
import * as Protocol from "./Protocol.ts"

/** Which host a bridge calls, and with which key. */
export interface Settings {
  /** The host's address, without a trailing slash. */
  readonly base_url: string
  /** The key to call with; null calls without one. */
  readonly key: string | null
}

/** What the address of a host must be: the end of a sentence that begins with the setting's name and "must". */
export const host_rule =
  "be the address of the host, such as https://quotes.example.com, without /v1/mcp, query, user or password"

/** Reads the address of a host, without trailing slashes. None if it breaks `host_rule`. */
export const readHost = (text: string): Option.Option<string> =>
  Option.filter(Result.getSuccess(HttpAddress.readBase(text)), (address) => !address.endsWith(Protocol.path))

/** How long a host may send nothing before it counts as gone, in milliseconds. The longest advance of a sandbox takes less. */
const silence_ms = 120_000

/** The largest answer that is read, in bytes: the limit of `connect`. */
const max_answer_bytes = 32 * 1024 * 1024

/**
 * When the answer to a form is sent again: after 1, 2, 4, 8, 16 and 32 seconds, so also after a limit that counts by the minute.
 * The person has given it only once, and the host takes only the first one.
 */
const form_retries = { schedule: Schedule.exponential("1 second"), times: 6 }

const isTemporary = (status: number): boolean => status >= 500 || status === 408 || status === 429

/** Passes a message on to the host. Returns its answer as one line; null for a notification. */
type Answer = (
  message: JsonRpc.Message,
  line: string,
  peer: Peer.Peer
) => Effect.Effect<string | null, never, HttpClient.HttpClient>

/** Makes the `answer` of `StdioServer.serve` that calls a host over HTTP. */
export const make: (settings: Settings) => Effect.Effect<Answer, never, HttpClient.HttpClient> = Effect.fnUntraced(
  function* ({ base_url, key }) {
    const client = yield* HttpClient.HttpClient
    const session = yield* Ref.make<string | null>(null)
    const post = Effect.fnUntraced(function* (line: string, headers: Readonly<Record<string, string>>) {
      const known = yield* Ref.get(session)
      const request = HttpClientRequest.post(`${base_url}${Protocol.path}`).pipe(
        HttpClientRequest.setHeaders({
          accept: "application/json, text/event-stream",
          ...(key !== null && { authorization: `Bearer ${key}` }),
          ...(known !== null && { "mcp-session-id": known }),
          ...headers
        }),
        HttpClientRequest.bodyText(line, "application/json")
      )
      return yield* Effect.timeout(client.execute(request), silence_ms)
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
      return {
        status,
        text: yield* Effect.orElseSucceed(Effect.timeout(textOf(response.stream), silence_ms), () => "")
      }
    })
    return Effect.fnUntraced(function* (message: JsonRpc.Message, line: string, peer: Peer.Peer) {
      const answer = yield* Effect.option(exchange(message, line, peer))
      const { id } = message
      if (id === null) return null
      return Option.match(answer, {
        onNone: () => unreachable(id, base_url),
        onSome: ({ status, text }) => (text === null ? unreachable(id, base_url) : answerOf(id, status, text))
      })
    })
  }
)

/** The text of an answer without events; cut off if it is too large. */
const textOf = <E, R>(stream: Stream.Stream<Uint8Array, E, R>) =>
  Stream.mkString(Stream.decodeText(Stream.limitBytes(stream, ByteSize.bytes(max_answer_bytes), () => Stream.empty)))

/**
 * Reads events until one of them is the answer to the message, and gives it; null if there is none. Before it, forms go to the
 * person, whose answers `reply` sends, and notifications go to the program.
 */
const answerIn = Effect.fnUntraced(function* <E, E2, R>(
  stream: Stream.Stream<Uint8Array, E>,
  message_id: JsonRpc.Id | null,
  peer: Peer.Peer,
  reply: (response: object) => Effect.Effect<unknown, E2, R>
) {
  const forms = yield* FiberMap.make<unknown>()
  const take = Effect.fnUntraced(function* ({ data }: Sse.Event) {
    const read = Result.flatMap(JsonRpc.parseJson(data), (json) => JsonRpc.readBody(json, false))
    if (Result.isFailure(read)) return null
    if (!("method" in read.success)) return message_id === null ? null : answerTo(message_id, data)
    const { id, method, params } = read.success
    if (id === null) {
      // The host withdraws a form. The program knows it by another id, so its fiber, when it ends, tells the program.
      if (method === "notifications/cancelled") yield* FiberMap.remove(forms, params.requestId)
      else yield* peer.notify(method, params)
    } else if (method === Form.method) {
      yield* FiberMap.run(
        forms,
        id,
        Effect.flatMap(peer.ask(params), (result) => Effect.ignore(Effect.retry(reply({ id, result }), form_retries)))
      )
    } else yield* Effect.ignore(reply({ id, error: notServed }))
    return null
  })
  const answer = yield* stream.pipe(
    Stream.timeout(silence_ms),
    Stream.decodeText(),
    Stream.pipeThroughChannel(Sse.decode({ maxEventSize: max_answer_bytes })),
    Stream.mapEffect(take),
    Stream.filter(Predicate.isNotNull),
    Stream.runHead
  )
  return Option.getOrNull(answer)
})

const notServed: JsonRpc.RpcError = {
  code: JsonRpc.codes.method_not_found,
  message: "This method is not served."
}

/**
 * Reads the answer to the message with this id, as one line. Null if the text answers another message, or none.
 *
 * A host that could not read the message answers with the id null, which becomes this id.
 */
const answerTo = (id: JsonRpc.Id, text: string): string | null => {
  const json = Result.getOrNull(JsonRpc.parseJson(text))
  const read = JsonRpc.readBody(json, false)
  if (!Predicate.isObject(json) || Result.isFailure(read) || !("result" in read.success)) return null
  if (read.success.id === null) return JSON.stringify({ ...json, id })
  return read.success.id === id ? text.replaceAll(/[\r\n]/g, " ") : null
}

/** An error envelope, as far as the bridge reads it. Its other fields are passed on unchanged, also those of newer hosts. */
const Envelope = Schema.Struct({
  error: Schema.StructWithRest(Schema.Struct({ code: Schema.String, message: Schema.String }), [
    Schema.Record(Schema.String, Schema.Unknown)
  ])
})

const readEnvelope = Schema.decodeUnknownOption(Schema.fromJsonString(Envelope))

/** The answer of the host as one line. If the host, or a proxy before it, has not answered with JSON-RPC, it becomes an error. */
const answerOf = (id: JsonRpc.Id, status: number, text: string): string => {
  const answer = answerTo(id, text)
  if (answer !== null) return answer
  return Option.match(readEnvelope(text), {
    onNone: () => refused(id, `The host has answered with HTTP ${status}.`),
    onSome: (envelope) => refused(id, `Refused (${envelope.error.code}): ${envelope.error.message}`, envelope)
  })
}

const unreachable = (id: JsonRpc.Id, base_url: string): string =>
  refused(id, `The host at ${base_url} gives no answer.`)

const refused = (id: JsonRpc.Id, message: string, data?: typeof Envelope.Type): string =>
  JsonRpc.failure({ id, error: { code: JsonRpc.codes.refused, message, ...(data !== undefined && { data }) } })
