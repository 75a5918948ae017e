import {
  Allowance,
  type Config,
  Feedback,
  PublicUrl,
  Quotewire,
  RequestLog,
  type Seal,
  SealKeysInUse,
  type Storage,
  WebhookHeaders
} from "@quotewire/core"
import { CarrierTransports, NodeCrypto, NodeWebhookSender } from "@quotewire/http"
import { Effect, Layer } from "effect"
import { CommandFailed } from "../settings/CommandErrors.ts"
import type { HostSettings } from "../settings/HostSettings.ts"
import { settingError } from "../settings/Settings.ts"

/** The settings of the core. */
export type ServiceSettings = Pick<
  HostSettings,
  "limits" | "no_limits" | "request_log" | "feedback" | "webhook_allow" | "webhook_header_prefix"
>

/** What a service depends on: its configuration, storage, seal keys and address. */
export interface ServiceDependencies<E> {
  readonly config: Config
  readonly storage: Layer.Layer<Storage.Storage, E>
  readonly sealKeys: Layer.Layer<Seal.SealKeys>
  /** The address that callers use. The effect waits until the address is known. */
  readonly base_url: Effect.Effect<string>
  /** The error for seal keys that do not match the storage. By default it names the setting for the keys. */
  readonly wrong_keys?: (refusal: SealKeysInUse.SealKeysRefused) => CommandFailed
}

/** The carriers and insurance lines of a checked configuration. */
export const carriers = (config: Config): Layer.Layer<Layer.Success<typeof Quotewire.sandboxCarriers>> =>
  Quotewire.carriers(config).pipe(Layer.orDie, Layer.provide(NodeCrypto.layer))

const exchanges = (config: Config) =>
  Quotewire.exchanges({ ...config, carrier_transport: config.carrier_transport ?? CarrierTransports.layer() })

/**
 * The whole core in this process, without its background jobs (`Quotewire.worker`). Fails with one sentence if the seal
 * keys are wrong.
 */
export const layer = <E>(
  settings: ServiceSettings,
  dependencies: ServiceDependencies<E>
): Layer.Layer<Quotewire.Services | Storage.Storage, E | CommandFailed> =>
  Quotewire.layer.pipe(
    Layer.catchTag("SealKeysRefused", (refusal) =>
      Layer.effectContext(Effect.fail((dependencies.wrong_keys ?? wrongKeys)(refusal)))
    ),
    Layer.catchTag("StorageUnavailable", () => Layer.effectContext(Effect.fail(lostAtStart))),
    Layer.provideMerge(dependencies.storage),
    Layer.provide(carriers(dependencies.config)),
    Layer.provide(exchanges(dependencies.config)),
    Layer.provideMerge(Quotewire.revisions(dependencies.config)),
    Layer.provide(dependencies.sealKeys),
    Layer.provide(
      NodeWebhookSender.layer({
        policy: { allow: settings.webhook_allow, own_addresses: NodeWebhookSender.ownAddresses() }
      })
    ),
    Layer.provide(Layer.succeed(WebhookHeaders.WebhookHeaderPrefix, settings.webhook_header_prefix)),
    Layer.provide(Layer.succeed(RequestLog.RequestLogEnabled, settings.request_log)),
    Layer.provide(Layer.succeed(Feedback.FeedbackEnabled, settings.feedback)),
    Layer.provide(NodeCrypto.layer),
    Layer.provide(Layer.succeed(PublicUrl.PublicUrl, dependencies.base_url)),
    Layer.provide(Layer.succeed(Allowance.AllowanceLimits, settings.no_limits ? Allowance.noLimits : settings.limits))
  )

/** The error for seal keys that do not match the database. */
export const wrongKeys = (refusal: SealKeysInUse.SealKeysRefused): CommandFailed =>
  new CommandFailed({
    message:
      refusal.reason === "guessable"
        ? refusal.message
        : `${settingError("seal-keys", `include ${SealKeysInUse.missingText(refusal)}`)}. List missing keys after the newest key, and remove a key only after quotewire seal rotate.`
  })

const lostAtStart = new CommandFailed({ message: "Storage became unavailable during startup." })
