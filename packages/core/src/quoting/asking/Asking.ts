import { Context, Effect, Layer } from "effect"
import type { Seal } from "../../access/sealing/Seal.ts"
import type { Workspaces } from "../../access/Workspaces.ts"
import type { CarrierAdapters, CarrierCallback } from "../../carriers/Carrier.ts"
import type { CarrierClient } from "../../carriers/CarrierClient.ts"
import type * as Recorder from "../../carriers/recorder/Recorder.ts"
import type { JobHandlers } from "../../runner/JobHandler.ts"
import type { Storage, StorageUnavailable } from "../../storage/Storage.ts"
import type { Ids } from "../../wire/Ids.ts"
import { AskJobs } from "./AskJobs.ts"
import * as Callbacks from "./Callbacks.ts"
import * as CarrierReferences from "./CarrierReferences.ts"
import * as Collecting from "./Collecting.ts"
import type * as PendingAsks from "./PendingAsks.ts"
import * as Polling from "./Polling.ts"
import * as Refreshes from "./Refreshes.ts"

/** Asks carriers and applies their answers. */
export class Asking extends Context.Service<
  Asking,
  {
    /**
     * Applies a carrier's callback. Returns false if the callback is not genuine or matches no ask. A repeated or late
     * callback changes nothing. Fails with `CallbackTooEarly` if the callback's ask is not stored yet.
     */
    readonly callback: (
      carrier_id: string,
      callback: CarrierCallback
    ) => Effect.Effect<boolean, StorageUnavailable | CarrierReferences.CallbackTooEarly>
    readonly jobs: JobHandlers<"collect" | "ask_carrier" | "poll_carrier" | "carrier_callback" | "refresh_quote">
  }
>()("@quotewire/core/Asking") {
  static readonly layer: Layer.Layer<
    Asking,
    never,
    Storage | Seal | Ids | Workspaces | CarrierAdapters | CarrierClient | PendingAsks.PendingAsks | Recorder.Recorder
  > = Layer.effect(
    Asking,
    Effect.gen(function* () {
      const { ask } = yield* AskJobs
      const { callback, play } = yield* Callbacks.make
      return Asking.of({
        // A callback finishes no job, so it cannot lose a lease.
        callback: (carrierId, carrierCallback) =>
          Effect.catchTag(callback(carrierId, carrierCallback), "LeaseLost", (leaseLost) => Effect.die(leaseLost)),
        jobs: {
          collect: yield* Collecting.make,
          ask_carrier: ask,
          poll_carrier: yield* Polling.make,
          carrier_callback: play,
          refresh_quote: yield* Refreshes.make
        }
      })
    })
  ).pipe(Layer.provide(AskJobs.layer), Layer.provide(CarrierReferences.CarrierReferences.layer))
}
