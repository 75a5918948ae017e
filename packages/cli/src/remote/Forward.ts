import { NodeHttpClient } from "@effect/platform-node"
import { Monotonic, Revision, Signature, WebhookSender } from "@quotewire/core"
import { NodeCrypto, NodeWebhookSender } from "@quotewire/http"
import { Clock, Effect, Layer, Option, Redacted, Result, Stream } from "effect"
import { Flag } from "effect/cli"
import { Mac } from "effect/crypto"
import { HttpClient, type HttpClientError, HttpClientRequest } from "effect/http"
import type { FeedEvent } from "./Feed.ts"

/*
 * Sends events from this machine to a receiver that the developer chooses, signed and formatted as a subscription's
 * events are.
 */

const readTarget = (text: string): Option.Option<string> => {
  const url = URL.parse(text)
  const isTarget = url !== null && /^https?:$/.test(url.protocol) && `${url.username}${url.password}${url.hash}` === ""
  return isTarget ? Option.some(url.href) : Option.none()
}

/** The receiver's address. Any address is allowed, even a local one, because the user of the command chose it. */
export const target = Flag.String("forward-to").pipe(
  Flag.filterMap(
    readTarget,
    () =>
      "--forward-to must be an http or https address such as http://localhost:3000/webhooks, without user, password or fragment"
  ),
  Flag.withMetavar("url"),
  Flag.withDescription("Your receiver, such as http://localhost:3000/webhooks")
)

/** Where events go, and how they are signed. */
export interface Receiver {
  readonly url: string
  readonly secret: Redacted.Redacted<string>
  readonly header_prefix: string
}

/** The result of sending one event. `failure` is null if the receiver responded with any status. */
export interface Forwarded {
  readonly status: number | null
  readonly failure: "connection_refused" | "timed_out" | "no_answer" | null
  readonly duration_ms: number
}

/** The latest API revision. The feed is read in this revision, and each delivery names it. */
const [{ date: latestRevision }] = Revision.served

/**
 * Creates the function that signs an event and sends it once. The function never fails and does not follow redirects.
 */
export const make = Effect.gen(function* () {
  const sign = Signature.signer(yield* Mac.Mac, Signature.noKeys())
  const client = yield* HttpClient.HttpClient

  const post = (receiver: Receiver, event: FeedEvent) =>
    Effect.gen(function* () {
      const body = JSON.stringify({ ...event, schema_version: latestRevision })
      const timestamp = Math.floor((yield* Clock.currentTimeMillis) / 1_000)
      const secrets = [Redacted.value(receiver.secret)]
      const signature = yield* sign(secrets, { id: event.id, timestamp, body })
      const request = HttpClientRequest.post(receiver.url).pipe(
        HttpClientRequest.bodyText(body, "application/json"),
        HttpClientRequest.setHeaders({
          "user-agent": NodeWebhookSender.defaultUserAgent,
          accept: "*/*",
          "accept-encoding": "identity",
          ...Signature.headersOf({ id: event.id, timestamp, signature, prefix: receiver.header_prefix })
        })
      )
      const response = yield* client.execute(request)
      yield* Stream.runDrain(response.stream)
      return response.status
    })

  return Effect.fnUntraced(function* (receiver: Receiver, event: FeedEvent) {
    const beganMs = yield* Monotonic.millis
    const answer = yield* post(receiver, event).pipe(
      Effect.timeoutOption(WebhookSender.defaultDeadlineMs),
      Effect.result
    )
    const duration_ms = yield* Monotonic.since(beganMs)
    if (Result.isFailure(answer)) return failed(failureOf(answer.failure), duration_ms)
    return Option.match(answer.success, {
      onNone: () => failed("timed_out", duration_ms),
      onSome: (status): Forwarded => ({ status, failure: null, duration_ms })
    })
  })
})

const failed = (failure: Forwarded["failure"], duration_ms: number): Forwarded => ({
  status: null,
  failure,
  duration_ms
})

const failureOf = ({ cause }: HttpClientError.HttpClientError): Forwarded["failure"] =>
  cause instanceof Error && "code" in cause && cause.code === "ECONNREFUSED" ? "connection_refused" : "no_answer"

/** The services that forwarding needs: an HTTP client that adds no headers of its own, and signatures. */
export const layer: Layer.Layer<HttpClient.HttpClient | Mac.Mac> = Layer.mergeAll(
  NodeHttpClient.layerUndici,
  NodeCrypto.layer,
  Layer.succeed(HttpClient.TracerPropagationEnabled, false)
)

/** Whether the receiver acknowledged the event. */
export const isConfirmed = ({ status }: Forwarded): boolean => status !== null && status >= 200 && status < 300

const failures = {
  connection_refused: "connection refused",
  timed_out: "no response in time",
  no_answer: "no response"
} as const

/** Describes the result of sending an event. */
export const wordsOf = ({ duration_ms, failure, status }: Forwarded): string =>
  `${failure === null ? status : failures[failure]} in ${duration_ms} ms`
