import { layer } from "@effect/vitest"
import { StorageModel } from "@quotewire/core/testing"
import { onEmpty, storage } from "./support/storage.ts"

layer(storage, { timeout: "60 seconds" })("the storage model", (it) => {
  it.effect.prop(
    "PostgreSQL behaves like the model in random histories",
    [StorageModel.histories],
    ([history]) => onEmpty(StorageModel.compare(history)),
    { arbitrary: { runs: 60, size: 80 }, timeout: 300_000 }
  )
})
