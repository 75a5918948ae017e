import { Cause, Clock, Effect, Exit, Option, Stream } from "effect"
import { type HttpClientError, HttpClientRequest, type HttpClientResponse } from "effect/http"
import * as Fault from "../../concurrency/Fault.ts"
import * as Monotonic from "../../concurrency/Monotonic.ts"
import { fromMillis } from "../../wire/Timestamp.ts"
import type { CarrierCallback } from "../Carrier.ts"
import { decoderOf } from "../http/Charset.ts"
import { CurrentRequest, isAnswer, type SentRequest } from "../http/SentRequest.ts"
import type * as WholeAnswers from "../http/WholeAnswers.ts"
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
  /** Whether the adapter can see the response body. The adapter's HTTP client hides the bodies of errors. */
  readonly is_seen: boolean
}

/** Adds an HTTP exchange that has just begun, and returns a function that adds details that become known later. */
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
  Effect.flatMap(begin(request, addHttp), (recording) =>
    Effect.map(
      Effect.onExit(call, (exit) => Effect.sync(() => recording.callEnded(exit))),
      (response) => tapped(response, (body) => recording.read(response, body))
    )
  )

/** Makes a client's shorter way for whole answers record what is sent and received. */
export const recordedWhole =
  (sendWhole: WholeAnswers.SendWhole, addHttp: AddHttp): WholeAnswers.SendWhole =>
  (request, options) =>
    Effect.flatMap(begin(request, addHttp), (recording) =>
      Effect.onError(sendWhole(request, { ...options, observer: both(recording, options.observer) }), (cause) =>
        Effect.sync(() => recording.wholeFailed(cause))
      )
    )

const both = (recording: Recording, other: WholeAnswers.Observer | undefined): WholeAnswers.Observer =>
  other === undefined
    ? recording
    : {
        onHead: (status, headers) => {
          recording.onHead(status, headers)
          other.onHead(status, headers)
        },
        onBody: (bytes) => {
          recording.onBody(bytes)
          other.onBody(bytes)
        }
      }

/** Begins to record an HTTP exchange. */
const begin = (request: HttpClientRequest.HttpClientRequest, addHttp: AddHttp): Effect.Effect<Recording> =>
  Effect.map(
    Effect.all([Clock.Clock, CurrentRequest]),
    ([clock, sentRequest]) => new Recording(request, sentRequest, clock, addHttp)
  )

/** The recording of one HTTP exchange. */
class Recording implements WholeAnswers.Observer {
  private readonly sentRequest: SentRequest | null
  private readonly clock: Clock.Clock
  private readonly began_ms: number
  private readonly add: ReturnType<AddHttp>
  private head: Head | null = null

  constructor(
    request: HttpClientRequest.HttpClientRequest,
    sentRequest: SentRequest | null,
    clock: Clock.Clock,
    addHttp: AddHttp
  ) {
    this.sentRequest = sentRequest
    this.clock = clock
    this.began_ms = Monotonic.millisOf(clock)
    this.add = addHttp({
      direction: "sent",
      method: request.method,
      url: urlOf(request),
      started_at: clock.currentTimeMillisUnsafe(),
      duration_ms: 0,
      status: null,
      // The value for an exchange that is still running when the adapter answers.
      error: "aborted",
      request: {
        headers: request.headers,
        content_type: request.headers["content-type"] ?? null,
        body: this.withoutSecretText(bodyOf(request))
      },
      response: null,
      is_seen: true
    })
  }

  /** Records the end of a client's call, which returns when the head of the answer has arrived. */
  callEnded(exit: Exit.Exit<Head, HttpClientError.HttpClientError>): void {
    if (Exit.isSuccess(exit)) this.onHead(exit.value.status, exit.value.headers)
    else this.failed(exit.cause)
  }

  onHead(status: number, headers: Head["headers"]): void {
    this.head = { status, headers }
    this.add({
      duration_ms: Monotonic.sinceOf(this.clock, this.began_ms),
      status,
      error: null,
      response: { ...headOf(this.head), body: null }
    })
  }

  onBody(bytes: Uint8Array): void {
    if (this.head !== null) this.read(this.head, bytesBody(bytes, headOf(this.head).content_type))
  }

  /** Records the body of an answer. */
  read(head: Head, body: RawBody): void {
    this.add({
      response: { ...headOf(head), body: this.withoutSecretText(body) },
      is_seen: this.sentRequest === null || isAnswer(this.sentRequest, head.status)
    })
  }

  /** Records that a whole answer could not be read. If its head has arrived, the recorded head says more. */
  wholeFailed(cause: Cause.Cause<HttpClientError.HttpClientError | WholeAnswers.UnreadAnswer>): void {
    if (this.head === null) this.failed(cause)
  }

  private failed(cause: Cause.Cause<HttpClientError.HttpClientError | WholeAnswers.UnreadAnswer>): void {
    const error = Option.getOrNull(Cause.findErrorOption(cause))
    this.add({
      duration_ms: Monotonic.sinceOf(this.clock, this.began_ms),
      error: error?._tag === "HttpClientError" ? Fault.classOf(error.reason) : "aborted"
    })
  }

  /** The whole bodies of a token request and its answer are secret. */
  private withoutSecretText(body: RawBody): RawBody {
    return this.sentRequest?.purpose === "token" ? { bytes: body.bytes, text: null } : body
  }
}

/** The status and the headers of an answer. */
type Head = Pick<HttpClientResponse.HttpClientResponse, "status" | "headers">

const nowhere = { host: "", pathname: "", searchParams: new URLSearchParams() }

const urlOf = (request: HttpClientRequest.HttpClientRequest) =>
  Option.getOrElse(HttpClientRequest.toUrl(request), () => nowhere)

/** The body of a request, if it is text. */
export const bodyOf = ({ body, headers }: HttpClientRequest.HttpClientRequest): RawBody => {
  switch (body._tag) {
    case "Empty":
      return { bytes: 0, text: "" }
    case "Uint8Array":
      return body.text === undefined
        ? bytesBody(body.body, headers["content-type"] ?? null)
        : { bytes: body.body.byteLength, text: shortened(body.text) }
    case "Raw":
      return typeof body.body === "string" ? textBody(body.body) : { bytes: body.contentLength ?? null, text: null }
    default:
      return { bytes: body.contentLength ?? null, text: null }
  }
}

const textBody = (text: string): RawBody => ({
  bytes: new TextEncoder().encode(text).length,
  text: shortened(text)
})

const shortened = (text: string): string | null => (text.length > maxReadCharacters ? null : text)

/** The body is decoded when its text is read, because most answers are not recorded. */
const bytesBody = (bytes: Uint8Array, contentType: string | null): RawBody => ({
  bytes: bytes.byteLength,
  get text() {
    return bytes.byteLength > maxReadCharacters ? null : decoderOf(contentType, bytes).decode(bytes)
  }
})

const headOf = ({ headers }: Pick<Head, "headers">) => ({
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
 * A response that also passes its body to `read` when the adapter reads the body. A body that the adapter does not read
 * is not recorded.
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
