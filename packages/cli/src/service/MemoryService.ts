import { type Config, Quotewire, Retention, Seal, type Storage } from "@quotewire/core"
import { NodeCrypto } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { type Effect, Layer } from "effect"
import * as Service from "./Service.ts"

// Memory is limited, so most data is kept for only a month. Quotes are valid for up to 30 days and are kept twice as
// long. A caller can therefore still read that an old quote has expired.
const periods: Retention.Periods = {
  events_days: 30,
  facts_days: 30,
  quotes_days: 60,
  consents_days: 30,
  requests_days: 30,
  feedback_days: 30,
  exchanges_days: 7
}

/** The whole service and its worker, entirely in this process's memory. */
export const layer = (
  settings: Service.ServiceSettings,
  config: Config,
  base_url: Effect.Effect<string>
): Layer.Layer<Quotewire.Services | Storage.Storage> =>
  Quotewire.worker.pipe(
    Layer.provideMerge(
      Service.layer(settings, {
        config,
        storage: MemoryStorage.layer,
        sealKeys: Layer.provide(Seal.SealKeys.layerEphemeral, NodeCrypto.layer),
        base_url
      })
    ),
    Layer.provide(Layer.succeed(Retention.RetentionPeriods, periods)),
    // The seal keys cannot be refused: the storage is new, so nothing in it was sealed with other keys.
    Layer.orDie
  )
