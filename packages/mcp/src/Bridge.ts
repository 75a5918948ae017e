import { Effect, Option, Ref, Schema } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import * as JsonRpc from "./JsonRpc.ts"
import * as Protocol from "./Protocol.ts"

/** The host behind a bridge, and the key to call it with. */
export interface Settings {
  /** The host's address, without a trailing slash. */
  readonly base_url: string
  /** The key to call with; null calls without one. */
  readonly key: string | null
}

/** How long a host may take to answer, in milliseconds. The longest advance of a sandbox takes less. */
const answer_ms = 120_000

/** Passes a message on to the host, and gives its answer; null if there is none. */
type Answer = (message: JsonRpc.Message, line: string) => Effect.Effect<string | null, never, HttpClient.HttpClient>

/** Answers a program on standard input and output by calling a host over HTTP. */
export const make: (settings: Settings) => Effect.Effect<Answer, never, HttpClient.HttpClient> = Effect.fnUntraced(
  function* ({ base_url, key }) {
    const client = yield* HttpClient.HttpClient
    const session = yield* Ref.make<string | null>(null)
    const headersOf = Effect.fnUntraced(function* (message: JsonRpc.Message) {
      const known = yield* Ref.get(session)
      return {
        // Answers with events would have to be taken apart again.
        accept: "application/json",
        ...(key !== null && { authorization: `Bearer ${key}` }),
        ...(known !== null && { "mcp-session-id": known }),
        ...Protocol.headersFor(message)
      }
    })
    const exchange = Effect.fnUntraced(function* (message: JsonRpc.Message, line: string) {
      const request = HttpClientRequest.post(`${base_url}${Protocol.path}`).pipe(
        HttpClientRequest.setHeaders(yield* headersOf(message)),
        HttpClientRequest.bodyText(line, "application/json")
      )
      const response = yield* client.execute(request)
      if (message.method === "initialize") yield* Ref.set(session, response.headers["mcp-session-id"] ?? null)
      return { status: response.status, text: yield* Effect.orElseSucceed(response.text, () => "") }
    })
    return Effect.fnUntraced(function* (message: JsonRpc.Message, line: string) {
      const answer = yield* exchange(message, line).pipe(Effect.timeout(answer_ms), Effect.option)
      const { id } = message
      if (id === null) return null
      return Option.match(answer, {
        onNone: () => unreachable(id, base_url),
        onSome: ({ status, text }) => answerOf(id, status, text)
      })
    })
  }
)

/** What the bridge reads of an error. The rest is passed on as it is, also from a host that is newer than this program. */
const Envelope = Schema.Struct({
  error: Schema.StructWithRest(Schema.Struct({ code: Schema.String, message: Schema.String }), [
    Schema.Record(Schema.String, Schema.Unknown)
  ])
})

const readEnvelope = Schema.decodeUnknownOption(Schema.fromJsonString(Envelope))
const readAnswer = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Struct({ jsonrpc: Schema.Literal("2.0") })))

/** Passes a message on. Anything else that the host, or a proxy before it, answers becomes an error message. */
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
