import { Carrier } from "@quotewire/core"
import { Context, Effect } from "effect"
import type { CommandFailed } from "./CommandErrors.ts"
import * as Service from "./Service.ts"

type LoadCarriers = Effect.Effect<ReadonlyArray<Carrier.CarrierAdapter>, CommandFailed>

/** Loads the carriers of this program; by default the fictional ones. */
export const CarrierLoader: Context.Reference<LoadCarriers> = Context.Reference<LoadCarriers>(
  "@quotewire/cli/CarrierLoader",
  { defaultValue: () => Effect.provide(Carrier.CarrierAdapters, Service.carriers) }
)
