import { HttpAddress } from "@quotewire/core/program"
import { Effect, FiberMap, Option, Ref, Result, Schema, Stream } from "effect"
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
    const reply = (response: object) => Effect.ignore(post(JSON.stringify({ jsonrpc: "2.0", ...response }), {}))
    const exchange = Effect.fnUntraced(function* (message: JsonRpc.Message, line: string, peer: Peer.Peer) {
      const response = yield* post(line, Protocol.headersFor(message))
      const { headers, status } = response
      if (message.method === "initialize") yield* Ref.set(session, headers["mcp-session-id"] ?? null)
      if (headers["content-type"]?.startsWith("text/event-stream") === true) {
        return { status, text: yield* Effect.scoped(lastOf(response.stream, peer, reply)) }
      }
      return { status, text: yield* Effect.orElseSucceed(Effect.timeout(response.text, silence_ms), () => "") }
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

/**
 * Reads an answer that is a stream of events. Returns the last answer in it; null if there is none.
 *
 * Forms go to the person, and `reply` sends the answers to the host. Notifications go to the program.
 */
const lastOf = Effect.fnUntraced(function* <E, R>(
  stream: Stream.Stream<Uint8Array, E>,
  peer: Peer.Peer,
  reply: (response: object) => Effect.Effect<void, never, R>
) {
  const forms = yield* FiberMap.make<unknown>()
  const last = yield* Ref.make<string | null>(null)
  const take = Effect.fnUntraced(function* ({ data }: Sse.Event) {
    const read = Result.flatMap(JsonRpc.parseJson(data), (json) => JsonRpc.readBody(json, false))
    if (Result.isFailure(read)) return
    if (!("method" in read.success)) return yield* Ref.set(last, data)
    const { id, method, params } = read.success
    if (id === null) {
      // The host withdraws a form. The program knows it by another id, so its fiber, when it ends, tells the program.
      if (method === "notifications/cancelled") yield* FiberMap.remove(forms, params.requestId)
      else yield* peer.notify(method, params)
    } else if (method === Form.method) {
      yield* FiberMap.run(
        forms,
        id,
        Effect.flatMap(peer.ask(params), (result) => reply({ id, result }))
      )
    } else yield* reply({ id, error: { code: JsonRpc.codes.method_not_found, message: "This method is not served." } })
  })
  yield* stream.pipe(
    Stream.timeout(silence_ms),
    Stream.decodeText(),
    Stream.pipeThroughChannel(Sse.decode()),
    Stream.runForEach(take)
  )
  return yield* Ref.get(last)
})

/** An error envelope, as far as the bridge reads it. Its other fields are passed on unchanged, also those of newer hosts. */
const Envelope = Schema.Struct({
  error: Schema.StructWithRest(Schema.Struct({ code: Schema.String, message: Schema.String }), [
    Schema.Record(Schema.String, Schema.Unknown)
  ])
})

const readEnvelope = Schema.decodeUnknownOption(Schema.fromJsonString(Envelope))
const readAnswer = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Struct({ jsonrpc: Schema.Literal("2.0") })))

/** The answer of the host as one line. If the host, or a proxy before it, has not answered with JSON-RPC, it becomes an error. */
const answerOf = (id: JsonRpc.Id, status: number, text: string): string => {
  if (Option.isSome(readAnswer(text))) return text.replaceAll(/[\r\n]/g, " ")
  return Option.match(readEnvelope(text), {
    onNone: () => refused(id, `The host has answered with HTTP ${status}.`),
    onSome: (envelope) => refused(id, `Refused (${envelope.error.code}): ${envelope.error.message}`, envelope)
  })
}

const unreachable = (id: JsonRpc.Id, base_url: string): string =>
  refused(id, `The host at ${base_url} gives no answer.`)

const refused = (id: JsonRpc.Id, message: string, data?: typeof Envelope.Type): string =>
  JsonRpc.failure({ id, error: { code: JsonRpc.codes.refused, message, ...(data !== undefined && { data }) } })
