import { NodeCrypto } from "@quotewire/http"
import { Effect, Layer } from "effect"
import { AllowanceLimits, noLimits } from "../../src/access/limits/Allowance.ts"
import { type Served, ServedRevisions } from "../../src/calls/Revision.ts"
import { layer, sandboxCarriers } from "../../src/Quotewire.ts"
import { Storage } from "../../src/storage/Storage.ts"
import { sealKeys } from "../../src/testing/World.ts"
import { WebhookSender } from "../../src/webhooks/WebhookSender.ts"

// The same seal keys as those of a world, whose storage it shares.
const sharedKeys = sealKeys(0)

/** Runs a body on a release of the core that serves these revisions, on the storage that all releases share. */
export const release = (served: Served) => {
  const core = layer.pipe(
    Layer.provide(WebhookSender.layerOff),
    Layer.provide(Layer.mergeAll(sharedKeys, sandboxCarriers, Layer.succeed(AllowanceLimits, noLimits))),
    Layer.provide(NodeCrypto.layer),
    Layer.provide(Layer.succeed(ServedRevisions, served))
  )
  return <A, E, R>(body: Effect.Effect<A, E, R>) =>
    Effect.flatMap(Storage, (storage) =>
      Effect.provide(body, Layer.provide(core, Layer.succeed(Storage, storage)), { local: true })
    )
}
