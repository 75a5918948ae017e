import { describe, it } from "@effect/vitest"
import { Storage } from "@quotewire/core"
import { StorageContract, StorageModel } from "@quotewire/core/testing"
import { Effect, Layer } from "effect"
import * as ModelStorage from "./ModelStorage.ts"

const empty = Layer.suspend(() => ModelStorage.copyable().layer)

describe("the simulation's storage model", () => {
  for (const { name, needs, run } of StorageContract.cases) {
    it.effect.skipIf(needs !== undefined)(name, () => run.pipe(Effect.provide(empty)))
  }

  for (const { name, run } of StorageContract.twoHostsCases) {
    it.effect(`for two hosts: ${name}`, () =>
      Effect.flatMap(Storage.Storage, (shared) => run(shared, shared)).pipe(Effect.provide(empty))
    )
  }

  it.effect.prop(
    "behaves like the reference model",
    [StorageModel.histories],
    ([history]) => StorageModel.compare(history).pipe(Effect.provide(empty)),
    { arbitrary: { runs: 50, size: 60 } }
  )
})
