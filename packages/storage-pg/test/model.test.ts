import { layer } from "@effect/vitest"
import { StorageModel } from "@quotewire/core/testing"
import { onEmpty, storage } from "./support/storage.ts"

layer(storage, { timeout: "60 seconds" })("the PostgreSQL storage", (it) => {
  it.effect.prop(
    "behaves like the storage model in random histories",
    [StorageModel.histories],
    ([history]) => onEmpty(StorageModel.compare(history)),
    { arbitrary: { runs: 60, size: 80 }, timeout: 300_000 }
  )
})
