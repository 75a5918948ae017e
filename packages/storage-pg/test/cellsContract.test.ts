import { describe, it } from "@effect/vitest"
import { Storage } from "@quotewire/core"
import { StorageContract, StorageModel } from "@quotewire/core/testing"
import { Effect, Layer } from "effect"
import { fourInMemory, join } from "./support/cells.ts"

const fourCells = Layer.effect(Storage.Storage, Effect.flatMap(fourInMemory, join))

describe("a storage of four in-memory cells", () => {
  for (const { name, needs, run } of StorageContract.cases) {
    it.effect.skipIf(needs === "processes" || needs === "moving")(name, () => run.pipe(Effect.provide(fourCells)))
  }

  for (const { name, run } of StorageContract.twoHostsCases) {
    it.effect(`for two hosts: ${name}`, () =>
      Effect.gen(function* () {
        const cells = yield* fourInMemory
        yield* run(yield* join(cells), yield* join(cells))
      })
    )
  }

  it.effect.prop(
    "behaves like the storage model in random histories",
    [StorageModel.histories],
    ([history]) => StorageModel.compare(history).pipe(Effect.provide(fourCells)),
    { arbitrary: { runs: 100, size: 100 } }
  )
})
