import { Context, Effect, Layer } from "effect"
import * as Fault from "../concurrency/Fault.ts"

/** How long an endpoint may take to confirm: connection, headers and body together. */
export const defaultDeadlineMs = 15_000

/** A signed POST to send. */
export interface WebhookRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Sent exactly as is, in UTF-8. */
  readonly body: string
  /** 15 seconds by default. */
  readonly deadline_ms?: number
}

/** Why a POST can get no complete answer. */
export const sendFailures = [
  // The answer was not complete by the deadline.
  "timeout",
  // No connection became free in time. Nothing was sent.
  "busy",
  // The URL, or an address of its host, is not allowed for webhooks. Nothing was sent.
  "refused_address",
  // The host has no address, or its name servers do not answer. Nothing was sent.
  "dns_failed",
  // The connection failed or broke off.
  "connection_failed",
  // The endpoint's certificate is not trusted, or it does not speak TLS. Nothing was sent.
  "tls_failed",
  // The headers of the answer are larger than 16 KiB, or the rest around headers and body does not end.
  "too_large",
  // The answer is not HTTP, or incomplete.
  "bad_response"
] as const

/** Why a POST got no complete answer. Only operators see it: callers could use it to scan ports. */
export type SendFailure = (typeof sendFailures)[number]

/** All that is kept of an endpoint's answer. */
export interface SendOutcome {
  /** The received status, even that of a redirect or an incomplete answer; null if none was received. */
  readonly response_status_code: number | null
  /** Measured from the moment a connection was available. */
  readonly duration_ms: number
  /** Null if a complete answer came, whatever its status. */
  readonly failure: SendFailure | null
}

/** Whether an endpoint confirmed a delivery: any 2xx whose body was read to the end (api.md, Confirmation). */
export const isConfirmed = ({ response_status_code: status, failure }: SendOutcome): boolean =>
  failure === null && status !== null && status >= 200 && status < 300

/** The result of looking up a URL's host. A host without any address is `refused` too. */
export type LookUp = "public" | "refused" | "unavailable"

/** Sends webhooks to the addresses that `WebhookAddress` allows. Its methods never fail. */
export class WebhookSender extends Context.Service<
  WebhookSender,
  {
    /**
     * Sends once, without following redirects, and ends by the request's deadline whatever the endpoint does. Before
     * that, the lookup of the host and the wait for a connection may take up to 5 seconds each. If a reused connection
     * turns out to be closed, the request is sent again on a new one.
     */
    readonly send: (request: WebhookRequest) => Effect.Effect<SendOutcome>
    /** Set if `send` always ends by itself in time. Otherwise the service stops it with a timer. */
    readonly keeps_deadlines?: true
    /** Set if the program sends no webhooks, so that no host is looked up. */
    readonly off?: true
    /** Looks up the host of a URL. After `unavailable`, try again later. */
    readonly lookUp: (url: string) => Effect.Effect<LookUp>
  }
>()("@quotewire/core/WebhookSender") {
  /** Sends nothing, so no subscription can be created. */
  static readonly layerOff: Layer.Layer<WebhookSender> = Layer.succeed(WebhookSender, {
    off: true,
    send: () => Effect.succeed({ response_status_code: null, duration_ms: 0, failure: "refused_address" }),
    lookUp: () => Effect.succeed("refused")
  })

  /**
   * The host's sender, with defects that are safe to log: their messages are removed, because they may contain an
   * endpoint's address.
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
