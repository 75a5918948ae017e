import { Effect, identity, Layer } from "effect"
import type { Mac, SecureRandom } from "effect/crypto"
import { AllowanceLimits, standardLimits } from "../access/limits/Allowance.ts"
import { SealKeys } from "../access/sealing/Seal.ts"
import { RequestLogEnabled } from "../calls/RequestLog.ts"
import type { CarrierAdapters } from "../carriers/Carrier.ts"
import type { Config } from "../config/Config.ts"
import { FeedbackEnabled } from "../feedback/Feedback.ts"
import type { Line } from "../lines/Line.ts"
import { carriers, exchanges, layer, lines, revisions, type Services, webCryptography, worker } from "../Quotewire.ts"
import type { Storage } from "../storage/Storage.ts"
import { WebhookSender } from "../webhooks/WebhookSender.ts"
import * as PublicUrl from "../wire/PublicUrl.ts"
import type { EmbedOptions } from "./Embedded.ts"
import * as ProgramLogger from "./ProgramLogger.ts"
import * as sealKeys from "./sealKeys.ts"
import * as Telemetry from "./Telemetry.ts"

/** Makes all services of the core, and the worker, from the options of `embed`. */
export const serviceLayer = <OwnLine extends Line>({
  storage,
  carriers: givenCarriers,
  seal_keys,
  cryptography = webCryptography,
  limits = standardLimits,
  logger,
  telemetry,
  webhooks = WebhookSender.layerOff,
  public_url,
  request_log = true,
  feedback: acceptsFeedback = true,
  work: runsJobs = true,
  grace_ms: _,
  ...config
}: EmbedOptions<OwnLine>): Layer.Layer<Services | Storage, Error> =>
  (runsJobs ? worker : Layer.empty).pipe(
    Layer.provideMerge(layer),
    // A storage backend may provide its own clock. Calls and jobs then use that clock.
    Layer.provideMerge(storage),
    Layer.provide(carriersOf(givenCarriers, config)),
    Layer.provide(sealKeysOf(seal_keys)),
    Layer.provide(webhooks),
    Layer.provide(cryptography),
    Layer.provide(Layer.succeed(AllowanceLimits, limits)),
    Layer.provide(Layer.succeed(RequestLogEnabled, request_log)),
    Layer.provide(Layer.succeed(FeedbackEnabled, acceptsFeedback)),
    Layer.provide(exchanges(config)),
    Layer.provide(public_url === undefined ? Layer.empty : PublicUrl.layer(public_url)),
    seal_keys === undefined ? Layer.catchTag("SealKeysRefused", () => randomKeysRefused) : identity,
    Layer.provideMerge(revisions(config)),
    Layer.provideMerge(Layer.merge(ProgramLogger.layer(logger), Telemetry.layer(telemetry)))
  )

const isLayer = (option: EmbedOptions["carriers"]): option is Layer.Layer<CarrierAdapters> => Layer.isLayer(option)

const carriersOf = (
  option: EmbedOptions["carriers"],
  config: Omit<Config, "carriers">
): Layer.Layer<CarrierAdapters, Error, Mac.Mac> => {
  if (isLayer(option)) {
    return config.lines === undefined ? option : Layer.merge(option, lines({ lines: config.lines }))
  }
  return carriers(option === undefined ? config : { ...config, carriers: option })
}

/** The seal keys from the options, which have already been checked; random keys if the option is absent. */
const sealKeysOf = (
  option: sealKeys.GivenSealKeys | undefined
): Layer.Layer<SealKeys, never, SecureRandom.SecureRandom> => {
  if (option === undefined) return SealKeys.layerEphemeral
  return isSealKeysLayer(option)
    ? option
    : Layer.effect(SealKeys, Effect.orDie(Effect.fromResult(sealKeys.read(option))))
}

const isSealKeysLayer = (option: sealKeys.GivenSealKeys): option is Layer.Layer<SealKeys> => Layer.isLayer(option)

const randomKeysRefused = Layer.effectContext(Effect.fail(sealKeys.randomKeysRefused))
