import { Clock, Effect, Exit, Option, Stream } from "effect"
import { type HttpClientError, HttpClientRequest, type HttpClientResponse } from "effect/http"
import * as Fault from "../../concurrency/Fault.ts"
import * as Monotonic from "../../concurrency/Monotonic.ts"
import { fromMillis } from "../../wire/Timestamp.ts"
import type { CarrierCallback } from "../Carrier.ts"
import { decoderOf } from "../http/Charset.ts"
import { CurrentRequest, isAnswer } from "../http/SentRequest.ts"
import * as Redaction from "../secrets/Redaction.ts"
import { maxReadCharacters, type RawBody, type RawMessage } from "../secrets/Redaction.ts"
import type { SecretFinder } from "../secrets/SecretFinder.ts"
import type { HttpExchange } from "./StoredExchange.ts"

type HttpSummary = Omit<HttpExchange, "request" | "response">

/** What is known so far about an HTTP exchange, before redaction. */
export interface RawHttp extends Pick<HttpExchange, "direction" | "method" | "status" | "error" | "duration_ms"> {
  readonly url: Pick<URL, "host" | "pathname" | "searchParams">
  /** When the HTTP exchange began, in milliseconds of real time. */
  readonly started_at: number
  readonly request: RawMessage
  readonly response: RawMessage | null
  /** Whether the adapter can see the response body. Its HTTP client hides the bodies of errors. */
  readonly is_seen: boolean
}

/** Adds an HTTP exchange that has just begun, and returns a function that adds what becomes known later. */
export type AddHttp = (begun: RawHttp) => (known: Partial<RawHttp>) => void

/** An HTTP exchange without its headers and bodies. */
export const summaryOf = (http: RawHttp, secrets: SecretFinder): HttpSummary => ({
  direction: http.direction,
  method: http.method,
  ...Redaction.address(http.url, secrets),
  started_at: fromMillis(http.started_at),
  duration_ms: http.duration_ms,
  status: http.status,
  error: http.error
})

/** An HTTP exchange as it is recorded. */
export const exchangeOf = (http: RawHttp, redaction: Redaction.Redaction): HttpExchange => ({
  ...summaryOf(http, redaction.secrets),
  request: Redaction.recorded(http.request, redaction),
  response: http.response === null ? null : Redaction.recorded(http.response, redaction)
})

/** An HTTP call with its response. */
type HttpCall = Effect.Effect<HttpClientResponse.HttpClientResponse, HttpClientError.HttpClientError>

/** Runs the HTTP call for a request, and records what is sent and received. */
export const recorded = (call: HttpCall, request: HttpClientRequest.HttpClientRequest, addHttp: AddHttp): HttpCall =>
  Effect.flatMap(
    Effect.all([Clock.currentTimeMillis, Monotonic.millis, CurrentRequest]),
    ([started_at, began_ms, sentMessage]) => {
      // The whole bodies of a token request and its answer are secret.
      const isSecret = sentMessage?.purpose === "token"
      const withoutSecretText = (body: RawBody): RawBody => (isSecret ? { ...body, text: null } : body)
      const add = addHttp({
        direction: "sent",
        method: request.method,
        url: urlOf(request),
        started_at,
        duration_ms: 0,
        status: null,
        // The value for an exchange that is still running when the adapter answers.
        error: "aborted",
        request: {
          headers: request.headers,
          content_type: request.headers["content-type"] ?? null,
          body: withoutSecretText(bodyOf(request))
        },
        response: null,
        is_seen: true
      })
      const addEnd = (exit: Exit.Exit<HttpClientResponse.HttpClientResponse, HttpClientError.HttpClientError>) =>
        Effect.map(Monotonic.since(began_ms), (duration_ms) => add({ duration_ms, ...endOf(exit) }))
      return Effect.map(Effect.onExit(call, addEnd), (response) =>
        tapped(response, (body) =>
          add({
            response: { ...headOf(response), body: withoutSecretText(body) },
            is_seen: sentMessage === null || isAnswer(sentMessage, response.status)
          })
        )
      )
    }
  )

const nowhere = { host: "", pathname: "", searchParams: new URLSearchParams() }

const urlOf = (request: HttpClientRequest.HttpClientRequest) =>
  Option.getOrElse(HttpClientRequest.toUrl(request), () => nowhere)

/** The body of a request, if it is text. */
export const bodyOf = ({ body, headers }: HttpClientRequest.HttpClientRequest): RawBody => {
  switch (body._tag) {
    case "Empty":
      return { bytes: 0, text: "" }
    case "Uint8Array":
      return body.text === undefined ? bytesBody(body.body, headers["content-type"] ?? null) : textBody(body.text)
    case "Raw":
      return typeof body.body === "string" ? textBody(body.body) : { bytes: body.contentLength ?? null, text: null }
    default:
      return { bytes: body.contentLength ?? null, text: null }
  }
}

const textBody = (text: string): RawBody => ({
  bytes: new TextEncoder().encode(text).length,
  text: text.length > maxReadCharacters ? null : text
})

const bytesBody = (bytes: Uint8Array, contentType: string | null): RawBody => ({
  bytes: bytes.byteLength,
  text: bytes.byteLength > maxReadCharacters ? null : decoderOf(contentType, bytes).decode(bytes)
})

const endOf = (exit: Exit.Exit<HttpClientResponse.HttpClientResponse, HttpClientError.HttpClientError>) => {
  if (Exit.isSuccess(exit)) {
    return { status: exit.value.status, error: null, response: { ...headOf(exit.value), body: null } }
  }
  const error = Option.getOrNull(Exit.findErrorOption(exit))
  return { error: error === null ? "aborted" : Fault.classOf(error.reason) }
}

const headOf = ({ headers }: HttpClientResponse.HttpClientResponse) => ({
  headers,
  content_type: headers["content-type"] ?? null
})

/** The HTTP exchange in which a carrier sent a callback to this service. */
export const received = ({ body, headers }: CarrierCallback, started_at: number): RawHttp => {
  const texts = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value?.toString()]))
  const content_type = texts["content-type"] ?? null
  return {
    direction: "received",
    method: "POST",
    url: nowhere,
    started_at,
    duration_ms: 0,
    status: null,
    error: null,
    request: { headers: texts, content_type, body: bytesBody(body, content_type) },
    response: null,
    is_seen: true
  }
}

/**
 * A response that also passes its body to `read` when the adapter reads it. A body that the adapter does not read is
 * not recorded.
 */
const tapped = (
  response: HttpClientResponse.HttpClientResponse,
  read: (body: RawBody) => void
): HttpClientResponse.HttpClientResponse => {
  const { content_type } = headOf(response)
  const readText = <E, R>(text: Effect.Effect<string, E, R>) =>
    Effect.tap(text, (body) => Effect.sync(() => read(textBody(body))))
  return new Proxy(response, {
    get: (target, name) => {
      switch (name) {
        case "text":
          return readText(target.text)
        case "json":
          // Reading the text first costs nothing extra: the response caches it, and parses it for `json`.
          return Effect.andThen(Effect.ignore(readText(target.text)), target.json)
        case "arrayBuffer":
          return Effect.tap(target.arrayBuffer, (bytes) =>
            Effect.sync(() => read(bytesBody(new Uint8Array(bytes), content_type)))
          )
        case "stream":
          return tappedStream(target.stream, content_type, read)
        default:
          return Reflect.get(target, name, target)
      }
    }
  })
}

const tappedStream = <E, R>(
  stream: Stream.Stream<Uint8Array, E, R>,
  contentType: string | null,
  read: (body: RawBody) => void
) =>
  Stream.suspend(() => {
    let decoder: TextDecoder | null = null
    let text = ""
    let bytes = 0
    const add = (chunk: Uint8Array) =>
      Effect.sync(() => {
        bytes += chunk.byteLength
        decoder ??= decoderOf(contentType, chunk)
        if (text.length <= maxReadCharacters) text += decoder.decode(chunk, { stream: true })
      })
    const end = Effect.sync(() =>
      read({ bytes, text: bytes > maxReadCharacters ? null : text + (decoder?.decode() ?? "") })
    )
    return Stream.ensuring(Stream.tap(stream, add), end)
  })
