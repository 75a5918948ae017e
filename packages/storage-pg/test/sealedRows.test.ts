import { describe, it } from "@effect/vitest"
import { Storage } from "@quotewire/core"
import { World } from "@quotewire/core/testing"
import { NodeCrypto } from "@quotewire/http"
import { PgStorage } from "@quotewire/storage-pg"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { scopedDatabase } from "../../../test/support/TestDatabase.ts"
import { oldKeys, rotationStory } from "../../core/test/access/resealing.ts"
import { beginning } from "../../core/test/support/world.ts"
import { endpoints } from "../../core/test/webhooks/support.ts"
import { fourInMemory, join } from "./support/cells.ts"

/** A rotation in a world on a storage backend. */
const rotationOn = <E>(storage: Layer.Layer<Storage.Storage, E>) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(beginning)
    const options = { cryptography: NodeCrypto.layer, seal_keys: oldKeys, webhooks: endpoints().layer }
    yield* Effect.provide(Effect.scoped(rotationStory), World.World.layer(storage, options))
  })

describe("a seal key rotation", () => {
  it.effect("changes nothing for callers in PostgreSQL, and then allows removing the older key", () =>
    Effect.flatMap(scopedDatabase, ({ options }) => rotationOn(PgStorage.layer(options)))
  )

  it.effect("changes nothing for callers in four cells, and then allows removing the older key", () =>
    rotationOn(Layer.effect(Storage.Storage, Effect.flatMap(fourInMemory, join)))
  )
})
