import {
  Allowance,
  Feedback,
  PublicUrl,
  Quotewire,
  RequestLog,
  type Seal,
  type Storage,
  WebhookHeaders
} from "@quotewire/core"
import { NodeCrypto, NodeWebhookSender } from "@quotewire/http"
import { type Effect, Layer } from "effect"
import type { HostSettings } from "./HostSettings.ts"

/** What the settings say of the core. */
export type ServiceSettings = Pick<
  HostSettings,
  "limits" | "no_limits" | "request_log" | "feedback" | "webhook_allow" | "webhook_header_prefix"
>

/** What a service stands on. */
export interface Ground<E> {
  readonly storage: Layer.Layer<Storage.Storage, E>
  readonly sealKeys: Layer.Layer<Seal.SealKeys>
  /** The address that callers use; whoever asks before it is known waits. */
  readonly base_url: Effect.Effect<string>
}

/** The carriers that the hosts of this command ask. */
export const carriers: Layer.Layer<Layer.Success<typeof Quotewire.sandboxCarriers>> = Layer.provide(
  Quotewire.sandboxCarriers,
  NodeCrypto.layer
)

/** The whole core in this process; `Quotewire.worker` beside it makes it work. */
export const layer = <E>(
  settings: ServiceSettings,
  ground: Ground<E>
): Layer.Layer<Quotewire.Services | Storage.Storage, E> =>
  Quotewire.layer.pipe(
    Layer.provideMerge(ground.storage),
    Layer.provide(carriers),
    Layer.provide(ground.sealKeys),
    Layer.provide(
      NodeWebhookSender.layer({
        policy: { allow: settings.webhook_allow, own_addresses: NodeWebhookSender.ownAddresses() }
      })
    ),
    Layer.provide(Layer.succeed(WebhookHeaders.WebhookHeaderPrefix, settings.webhook_header_prefix)),
    Layer.provide(Layer.succeed(RequestLog.KeepsRequestLog, settings.request_log)),
    Layer.provide(Layer.succeed(Feedback.TakesFeedback, settings.feedback)),
    Layer.provide(NodeCrypto.layer),
    Layer.provide(Layer.succeed(PublicUrl.PublicUrl, ground.base_url)),
    Layer.provide(Layer.succeed(Allowance.AllowanceLimits, settings.no_limits ? Allowance.noLimits : settings.limits))
  )
