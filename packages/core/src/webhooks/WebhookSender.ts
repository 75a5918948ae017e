import { Context, Effect, Layer } from "effect"
import * as Fault from "../concurrency/Fault.ts"

/** How long an endpoint may take to confirm: connecting, its headers and its body together. */
export const default_deadline_ms = 15_000

/** A signed POST. */
export interface WebhookRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Sent as these very characters, in UTF-8. */
  readonly body: string
  /** 15 seconds where it is left out. */
  readonly deadline_ms?: number
}

/** Why a POST got no whole answer. It goes to the host's log, never to a caller: a port scanner would thank for it. */
export type SendFailure =
  /** The whole answer was not there by the deadline. */
  | "timeout"
  /** Every connection that this host may have was taken for too long: nothing was sent. */
  | "busy"
  /** The URL, or an address that its host has, is not one that webhooks go to: nothing was sent. */
  | "refused_address"
  /** The host has no address, or its name servers do not answer: nothing was sent. */
  | "dns_failed"
  /** No connection could be made, or it broke off. */
  | "connection_failed"
  /** The endpoint's certificate is not to be trusted, or it does not speak TLS: nothing was sent. */
  | "tls_failed"
  /** The headers of the answer are larger than 16 KiB, or what stands around headers and body is endless. */
  | "too_large"
  /** The answer is not HTTP, or not whole. */
  | "bad_response"

/** All that is ever told of an endpoint's answer. */
export interface SendOutcome {
  /** The status that stood on the wire, redirects included, though the rest were missing; null where none came. */
  readonly response_status_code: number | null
  /** From when there was a connection for it. */
  readonly duration_ms: number
  /** Null where a whole answer came, whatever its status. */
  readonly failure: SendFailure | null
}

/** Whether an endpoint confirmed a delivery: any 2xx, read to its end. */
export const isConfirmed = ({ response_status_code: status, failure }: SendOutcome): boolean =>
  failure === null && status !== null && status >= 200 && status < 300

/** What a look-up of a URL's host came to. `refused` is said of a host without any address, too. */
export type LookUp = "public" | "refused" | "unavailable"

/** Sends webhooks to where `WebhookAddress` lets them go. Neither of its ways ever fails. */
export class WebhookSender extends Context.Service<
  WebhookSender,
  {
    /**
     * Sends once, following no redirect, and ends by the request's deadline whatever the endpoint does; looking its host
     * up and waiting for a connection come before, at most 5 seconds each. Where a kept connection turns out to be closed,
     * it is sent again over a new one.
     */
    readonly send: (request: WebhookRequest) => Effect.Effect<SendOutcome>
    /** Looks up the host of a URL; `unavailable` is worth another try. */
    readonly lookUp: (url: string) => Effect.Effect<LookUp>
  }
>()("@quotewire/core/WebhookSender") {
  /** Sends nothing anywhere, and takes no host for public: no subscription can be made on it. */
  static readonly layerOff: Layer.Layer<WebhookSender> = Layer.succeed(WebhookSender, {
    send: () => Effect.succeed({ response_status_code: null, duration_ms: 0, failure: "refused_address" }),
    lookUp: () => Effect.succeed("refused")
  })

  /** The host's sender, whose defects can be logged: their messages, which could hold an endpoint's address, are taken out. */
  static readonly loggable: Effect.Effect<WebhookSender["Service"], never, WebhookSender> = Effect.map(
    WebhookSender,
    (sender) => ({
      send: (request) => Fault.withoutMessages(() => sender.send(request)),
      lookUp: (url) => Fault.withoutMessages(() => sender.lookUp(url))
    })
  )
}
