import { Context, Effect, Layer } from "effect"
import * as Fault from "../concurrency/Fault.ts"

/**
 * How long an endpoint may take to confirm a delivery, in milliseconds. This includes the connection, the headers and
 * the body.
 */
export const defaultDeadlineMs = 15_000

/** A signed POST to send. */
export interface WebhookRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** The body, which is sent exactly as given, in UTF-8. */
  readonly body: string
  /** How long the endpoint may take, in milliseconds; `defaultDeadlineMs` by default. */
  readonly deadline_ms?: number
}

/** Why a POST can fail to get a complete response. */
export const sendFailures = [
  // The response was not complete by the deadline.
  "timeout",
  // No connection became free in time. Nothing was sent.
  "busy",
  // The URL, or an IP address of its host, is not allowed for webhooks. Nothing was sent.
  "refused_address",
  // The host has no IP address, or its name servers do not answer. Nothing was sent.
  "dns_failed",
  // The connection failed or broke.
  "connection_failed",
  // The endpoint's certificate is not trusted, or the endpoint does not speak TLS. Nothing was sent.
  "tls_failed",
  // The response's headers are larger than 16 KiB, or the endpoint keeps sending data outside headers and body.
  "too_large",
  // The response is not HTTP, or is incomplete.
  "bad_response"
] as const

/** Why a POST got no complete response. Only operators see this, because callers could use it to scan ports. */
export type SendFailure = (typeof sendFailures)[number]

/** Everything that the service keeps of an endpoint's response. */
export interface SendOutcome {
  /** The status that was received, even from a redirect or an incomplete response; null if no status was received. */
  readonly response_status_code: number | null
  /** How long the request took once it had a connection. */
  readonly duration_ms: number
  /** Why the response is missing or incomplete; null for a complete response with any status. */
  readonly failure: SendFailure | null
}

/**
 * Whether an endpoint confirmed a delivery. Any 2xx whose body was read to the end is a confirmation (api.md,
 * Confirmation).
 */
export const isConfirmed = ({ response_status_code: status, failure }: SendOutcome): boolean =>
  failure === null && status !== null && status >= 200 && status < 300

/** The result of looking up a URL's host. A host without an IP address is also `refused`. */
export type LookUp = "public" | "refused" | "unavailable"

/** Sends webhooks to the addresses that `WebhookAddress` allows. Its methods never fail. */
export class WebhookSender extends Context.Service<
  WebhookSender,
  {
    /**
     * Sends once, without following redirects, and ends by the request's deadline regardless of what the endpoint does.
     * Looking up the host and waiting for a connection come before that, and may take up to 5 seconds each. If a reused
     * connection turns out to be closed, the request is sent again on a new one.
     */
    readonly send: (request: WebhookRequest) => Effect.Effect<SendOutcome>
    /** Set this if `send` itself always meets its deadline. Otherwise the service stops it with a timer. */
    readonly keeps_deadlines?: true
    /** Set this if the program sends no webhooks, so that no host is looked up. */
    readonly off?: true
    /** Looks up a URL's host. After `unavailable`, try again later. */
    readonly lookUp: (url: string) => Effect.Effect<LookUp>
  }
>()("@quotewire/core/WebhookSender") {
  /** A sender that sends nothing. With this sender, no subscription can be created. */
  static readonly layerOff: Layer.Layer<WebhookSender> = Layer.succeed(WebhookSender, {
    off: true,
    send: () => Effect.succeed({ response_status_code: null, duration_ms: 0, failure: "refused_address" }),
    lookUp: () => Effect.succeed("refused")
  })

  /**
   * The host's sender, made safe to log: the messages of its defects are removed, because they may contain an
   * endpoint's URL.
   */
  static readonly loggable: Effect.Effect<WebhookSender["Service"], never, WebhookSender> = Effect.map(
    WebhookSender,
    (sender) => ({
      ...(sender.off && { off: sender.off }),
      ...(sender.keeps_deadlines && { keeps_deadlines: sender.keeps_deadlines }),
      send: (request) => Fault.redactDefects(() => sender.send(request)),
      lookUp: (url) => Fault.redactDefects(() => sender.lookUp(url))
    })
  )
}

/**
 * The longest that a sender may take: the deadline, plus the time for looking up the host and waiting for a connection.
 * This is less than a job's lease, so no other host begins the attempt in the meantime.
 */
const maxSendMs = defaultDeadlineMs + 10_000

const late: SendOutcome = { response_status_code: null, duration_ms: maxSendMs, failure: "timeout" }

/** Stops waiting for a sender that misses its deadline, so that it cannot hold its slot forever. */
export const inTime = (send: Effect.Effect<SendOutcome>): Effect.Effect<SendOutcome> =>
  Effect.timeoutOrElse(send, {
    duration: maxSendMs,
    orElse: () =>
      Effect.as(Effect.logWarning("Stopped waiting for the webhook sender, which ran past its deadline"), late)
  })
