import { describe, layer } from "@effect/vitest"
import { StorageContract, StorageModel } from "@quotewire/core/testing"
import { citus_url, onEmpty, skipped, storage } from "./support/citus.ts"

describe.skipIf(citus_url === undefined)(`a cell on Citus keeps the rules of storage (${skipped})`, () => {
  layer(storage, { timeout: 60_000 })((it) => {
    for (const { name, run } of StorageContract.cases) it.effect(name, () => onEmpty(run))

    it.effect.prop(
      "in random histories",
      [StorageModel.histories],
      ([history]) => onEmpty(StorageModel.compare(history)),
      { arbitrary: { runs: 10, size: 60 }, timeout: 300_000 }
    )
  })
})
