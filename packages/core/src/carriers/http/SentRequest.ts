import { Bytes, Clock, Context, Effect, Result, Stream } from "effect"
import {
  FetchHttpClient,
  type Headers,
  HttpClient,
  type HttpClientError,
  type HttpClientRequest,
  type HttpClientResponse
} from "effect/http"
import { CarrierConnections } from "../CarrierConnections.ts"
import { CarrierTransport } from "../CarrierTransport.ts"
import * as TimeBudget from "../TimeBudget.ts"
import {
  type CarrierHttpError,
  noFreeConnection,
  ofStatus,
  ofTransport,
  type Target,
  tooLarge
} from "./CarrierHttpError.ts"
import type { ReceivedResponse } from "./CarrierResponse.ts"
import * as WholeAnswers from "./WholeAnswers.ts"

/**
 * A request to a carrier, and its purpose. Code that wraps `CarrierTransport` can read this through `CurrentRequest`
 * while the request is sent.
 */
export interface SentRequest extends Target {
  /** With `token`, the whole bodies of the request and its response are secret. */
  readonly purpose: "call" | "token"
  /** Paths of values in JSON and XML bodies that recordings omit. */
  readonly redact: ReadonlyArray<string>
  /** Statuses outside 200 to 299 that are treated as answers. With any other status, the body is read but discarded. */
  readonly accept: ReadonlyArray<number>
}

/** Whether a status is treated as an answer to a request. */
export const isAnswer = ({ accept }: Pick<SentRequest, "accept">, status: number): boolean =>
  (status >= 200 && status < 300) || accept.includes(status)

/** The request being sent; null outside a request. */
export const CurrentRequest: Context.Reference<SentRequest | null> = Context.Reference<SentRequest | null>(
  "@quotewire/core/CurrentCarrierRequest",
  { defaultValue: () => null }
)

/** The limit on the size of a response. */
export interface Terms {
  readonly max_bytes: number
}

/**
 * Waits for a connection, sends one request, and reads the whole response. Follows no redirects, and sets no timeout.
 *
 * The body is read even if the status is an error, so that the connection can be reused and recordings show the
 * carrier's response.
 */
export const send = (
  request: HttpClientRequest.HttpClientRequest,
  sentRequest: SentRequest,
  { max_bytes }: Terms
): Effect.Effect<ReceivedResponse, CarrierHttpError> => {
  const { method, path, host } = sentRequest
  const target: Target = { method, path, host }
  return CarrierTransport.use((transport) => {
    const sendWhole = WholeAnswers.sendWholeOf(transport)
    return sendWhole === undefined
      ? throughClient(transport, request, target, max_bytes)
      : whole(sendWhole(request, { max_bytes }), target, max_bytes)
  }).pipe(
    Effect.flatMap(({ status, headers, body }) =>
      isAnswer(sentRequest, status)
        ? Effect.map(Effect.fromResult(body), (bytes) => ({
            target,
            status,
            headers: { ...headers },
            bytes,
            sent: request.headers
          }))
        : Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.fail(ofStatus(target, status, headers, now)))
    ),
    onConnection(target),
    Effect.provideService(CurrentRequest, sentRequest),
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

/** Takes a connection before the request, and holds it until the whole response has been read. */
const onConnection =
  (target: Target) =>
  <A, E>(request: Effect.Effect<A, E>): Effect.Effect<A, E | CarrierHttpError> =>
    CarrierConnections.use(({ hold, take }) => {
      const tooLong = () => noFreeConnection(target)
      if (hold === undefined) {
        return take(target.host).pipe(TimeBudget.uncounted(tooLong), Effect.andThen(request), Effect.scoped)
      }
      return Effect.acquireUseRelease(
        Effect.sync(() => new Held((onFree) => hold(target.host, onFree))),
        (held) =>
          held.isFree
            ? request
            : Effect.andThen(
                TimeBudget.uncountedUntil((resume) => held.wait(resume), tooLong),
                request
              ),
        (held) => Effect.sync(held.leave)
      )
    })

/** A connection that a request has taken or waits for. */
class Held {
  isFree = false
  readonly leave: () => void
  private resume: () => void = () => {}

  constructor(hold: (onFree: () => void) => () => void) {
    this.leave = hold(() => {
      this.isFree = true
      this.resume()
    })
  }

  wait(resume: () => void): void {
    if (this.isFree) resume()
    else this.resume = resume
  }
}

/** A carrier's response, and its body or the reason why the body could not be read. */
interface Received {
  readonly status: number
  readonly headers: Headers.Headers
  readonly body: Result.Result<Uint8Array, CarrierHttpError>
}

type Receiving = Effect.Effect<Received, CarrierHttpError>

/** Sends a request through a client that has a shorter way for whole answers. */
const whole = (sending: ReturnType<WholeAnswers.SendWhole>, target: Target, maxBytes: number): Receiving =>
  Effect.matchEffect(sending, {
    onSuccess: ({ status, headers, bytes }) => noted({ status, headers, body: Result.succeed(bytes) }),
    onFailure: (failure) => {
      if (failure._tag === "HttpClientError") return Effect.fail(ofTransport(target, failure, null))
      const { status, headers, problem } = failure
      const error = problem === "too_large" ? tooLarge(target, status, maxBytes) : ofTransport(target, failure, status)
      return noted({ status, headers, body: Result.fail(error) })
    }
  })

const noted = (received: Received): Effect.Effect<Received> =>
  Effect.as(Effect.annotateCurrentSpan("http.response.status_code", received.status), received)

/** Sends a request through any client. */
const throughClient = (
  transport: HttpClient.HttpClient,
  request: HttpClientRequest.HttpClientRequest,
  target: Target,
  maxBytes: number
): Receiving =>
  Effect.gen(function* () {
    const response = yield* Effect.mapError(transport.execute(request), (failure) => ofTransport(target, failure, null))
    const { status, headers } = response
    yield* Effect.annotateCurrentSpan("http.response.status_code", status)
    return { status, headers, body: yield* Effect.result(read(response, target, maxBytes)) }
  }).pipe(
    Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" }),
    // The HTTP client's own span would contain the URL, and its trace headers would reach the carrier.
    Effect.provideService(HttpClient.TracerDisabledWhen, () => true)
  )

const read = (response: HttpClientResponse.HttpClientResponse, target: Target, maxBytes: number) =>
  hasLengthUpTo(maxBytes, response) ? readWhole(response, target) : readStream(response, target, maxBytes)

/**
 * Whether the response declares an acceptable length. The declared length of a compressed response does not count,
 * because it is the compressed length.
 */
const hasLengthUpTo = (maxBytes: number, { headers }: HttpClientResponse.HttpClientResponse): boolean =>
  headers["content-encoding"] === undefined && Number(headers["content-length"]) <= maxBytes

/**
 * Reads a response that declares its length, without a stream. Most responses declare their length
 * (docs/decisions/tuning.md).
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

/** Whether a response has no body, such as a 204. */
const isEmpty = ({ reason }: HttpClientError.HttpClientError): boolean => reason._tag === "EmptyBodyError"
