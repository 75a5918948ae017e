import { Bytes, Clock, Context, Effect, Stream } from "effect"
import {
  FetchHttpClient,
  HttpClient,
  type HttpClientError,
  type HttpClientRequest,
  type HttpClientResponse
} from "effect/http"
import * as CallTime from "../CallTime.ts"
import { CarrierConnections } from "../CarrierConnections.ts"
import { CarrierTransport } from "../CarrierTransport.ts"
import {
  type CarrierHttpError,
  noFreeConnection,
  ofStatus,
  ofTransport,
  type Target,
  tooLarge
} from "./CarrierHttpError.ts"
import type { Received } from "./CarrierResponse.ts"

/**
 * A request to a carrier, and what it is for. Code that wraps `CarrierTransport` can read it while the request is sent.
 */
export interface SentRequest extends Target {
  /** `token`: the bodies of the request and its answer are entirely secret. */
  readonly purpose: "call" | "token"
  /** Paths in JSON bodies that recordings omit. */
  readonly redact: ReadonlyArray<string>
  /** Statuses outside 200 to 299 that count as answers. Any other body is read and discarded. */
  readonly accept: ReadonlyArray<number>
}

/** Whether a status counts as an answer to a request. */
export const isAnswer = ({ accept }: Pick<SentRequest, "accept">, status: number): boolean =>
  (status >= 200 && status < 300) || accept.includes(status)

/** The request being sent; null outside a request. */
export const CurrentRequest: Context.Reference<SentRequest | null> = Context.Reference<SentRequest | null>(
  "@quotewire/core/CurrentCarrierRequest",
  { defaultValue: () => null }
)

/** The limit on the size of an answer. */
export interface Terms {
  readonly max_bytes: number
}

/**
 * Sends one request and reads the whole answer, after waiting for a connection. It follows no redirects, and sets no
 * timeout.
 *
 * The body is read even if the status is an error: this keeps the connection reusable, and recordings show what the
 * carrier said.
 */
export const send = (
  request: HttpClientRequest.HttpClientRequest,
  sent: SentRequest,
  { max_bytes }: Terms
): Effect.Effect<Received, CarrierHttpError> => {
  const { method, path, host } = sent
  const target: Target = { method, path, host }
  return Effect.gen(function* () {
    const transport = yield* CarrierTransport
    const response = yield* Effect.mapError(transport.execute(request), (failure) => ofTransport(target, failure, null))
    const { status, headers } = response
    yield* Effect.annotateCurrentSpan("http.response.status_code", status)
    if (isAnswer(sent, status)) {
      return {
        target,
        status,
        headers: { ...headers },
        bytes: yield* read(response, target, max_bytes),
        sent: request.headers
      }
    }
    yield* Effect.ignore(read(response, target, max_bytes))
    return yield* ofStatus(target, status, headers, yield* Clock.currentTimeMillis)
  }).pipe(
    onConnection(target),
    Effect.provideService(CurrentRequest, sent),
    Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" }),
    // The client's span would contain the URL, and its headers would tell the carrier about our traces.
    Effect.provideService(HttpClient.TracerDisabledWhen, () => true),
    Effect.withSpan(
      `${method} ${host}`,
      {
        kind: "client",
        attributes: { "http.request.method": method, "server.address": host, "url.template": path }
      },
      { captureStackTrace: false }
    )
  )
}

/** Holds a connection from before the request until the whole answer has been read. */
const onConnection =
  (target: Target) =>
  <A, E>(request: Effect.Effect<A, E>): Effect.Effect<A, E | CarrierHttpError> =>
    Effect.flatMap(CarrierConnections, ({ take }) =>
      take(target.host).pipe(
        CallTime.waiting(() => noFreeConnection(target)),
        Effect.andThen(request),
        Effect.scoped
      )
    )

const read = (response: HttpClientResponse.HttpClientResponse, target: Target, maxBytes: number) =>
  hasLengthUpTo(maxBytes, response) ? readWhole(response, target) : readStream(response, target, maxBytes)

/**
 * Whether the answer declares its length and is short enough. The declared length of a compressed answer says nothing.
 */
const hasLengthUpTo = (maxBytes: number, { headers }: HttpClientResponse.HttpClientResponse): boolean =>
  headers["content-encoding"] === undefined && Number(headers["content-length"]) <= maxBytes

/**
 * Reads an answer without a stream, if it declares its length. Most answers do, and this saves much of a request's CPU
 * time.
 */
const readWhole = (response: HttpClientResponse.HttpClientResponse, target: Target) =>
  Effect.mapBoth(response.arrayBuffer, {
    onSuccess: (buffer) => new Uint8Array(buffer),
    onFailure: (failure) => ofTransport(target, failure, response.status)
  })

const readStream = (response: HttpClientResponse.HttpClientResponse, target: Target, maxBytes: number) =>
  Effect.suspend(() => {
    const chunks: Array<Uint8Array> = []
    let size = 0
    return Stream.runForEach(response.stream, (chunk) => {
      size += chunk.length
      chunks.push(chunk)
      return size > maxBytes ? Effect.fail(tooLarge(target, response.status, maxBytes)) : Effect.void
    }).pipe(
      Effect.catchTag("HttpClientError", (failure) =>
        isEmpty(failure) ? Effect.void : Effect.fail(ofTransport(target, failure, response.status))
      ),
      Effect.map(() => Bytes.concat(chunks))
    )
  })

/** Whether an answer has no body at all, as with 204. */
const isEmpty = ({ reason }: HttpClientError.HttpClientError): boolean => reason._tag === "EmptyBodyError"
