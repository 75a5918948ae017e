import { ApiError } from "@quotewire/core"
import { Effect, Option, Ref, Schema } from "effect"
import { HttpClient, HttpClientRequest, type HttpClientResponse } from "effect/http"
import { path } from "./Endpoint.ts"
import * as JsonRpc from "./JsonRpc.ts"
import type { Settings as PipeSettings } from "./Pipe.ts"
import * as Protocol from "./Protocol.ts"

/** Which host stands behind a bridge, and as whom to call it. */
export interface Settings {
  /** The host's address, without a slash at the end. */
  readonly base_url: string
  /** The key to call with; null calls without one. */
  readonly key: string | null
}

/** Answers a program at the other end of a pipe with what a host answers over HTTP. */
export const make = (
  settings: Settings
): Effect.Effect<PipeSettings<HttpClient.HttpClient>["answer"], never, HttpClient.HttpClient> =>
  Effect.gen(function* () {
    const client = yield* HttpClient.HttpClient
    const session = yield* Ref.make<string | null>(null)
    const headersOf = Effect.fnUntraced(function* (message: JsonRpc.Message) {
      const known = yield* Ref.get(session)
      return {
        accept: "application/json, text/event-stream",
        ...(settings.key !== null && { authorization: `Bearer ${settings.key}` }),
        ...(known !== null && { "mcp-session-id": known }),
        ...Protocol.headersFor(message)
      }
    })
    return Effect.fnUntraced(function* (message: JsonRpc.Message, line: string) {
      const request = HttpClientRequest.post(`${settings.base_url}${path}`).pipe(
        HttpClientRequest.setHeaders(yield* headersOf(message)),
        HttpClientRequest.bodyText(line, "application/json")
      )
      const response = yield* client.execute(request).pipe(Effect.option)
      const { id } = message
      if (Option.isNone(response)) return id === null ? null : unreachable(id, settings.base_url)
      if (message.method === "initialize") yield* Ref.set(session, response.value.headers["mcp-session-id"] ?? null)
      const text = yield* response.value.text.pipe(Effect.orElseSucceed(() => ""))
      return id === null ? null : answerOf(id, response.value, text)
    })
  })

const readEnvelope = Schema.decodeUnknownOption(Schema.fromJsonString(ApiError.ErrorEnvelope))
const readAnswer = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Struct({ jsonrpc: Schema.Literal("2.0") })))

/** A message is passed on as it is; everything else that a host or what is in front of it answers becomes one. */
const answerOf = (id: JsonRpc.Id, { status }: HttpClientResponse.HttpClientResponse, text: string): string => {
  if (Option.isSome(readAnswer(text))) return text.replaceAll(/[\r\n]/g, " ")
  return Option.match(readEnvelope(text), {
    onNone: () => refused(id, `The host has answered with HTTP ${status}.`),
    onSome: (envelope) => refused(id, `Refused (${envelope.error.code}): ${envelope.error.message}`, envelope)
  })
}

const unreachable = (id: JsonRpc.Id, base_url: string): string =>
  refused(id, `The host at ${base_url} gives no answer.`)

const refused = (id: JsonRpc.Id, message: string, data?: ApiError.ErrorEnvelope): string =>
  JsonRpc.failure({ id, error: { code: JsonRpc.codes.refused, message, ...(data !== undefined && { data }) } })
