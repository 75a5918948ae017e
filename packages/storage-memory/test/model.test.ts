import { describe, it } from "@effect/vitest"
import { StorageModel } from "@quotewire/core/testing"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect } from "effect"

describe("the in-memory storage", () => {
  it.effect.prop(
    "behaves like the storage model in random histories",
    [StorageModel.histories],
    ([history]) => StorageModel.compare(history).pipe(Effect.provide(MemoryStorage.layer)),
    { arbitrary: { runs: 400, size: 120 }, timeout: 120_000 }
  )
})
