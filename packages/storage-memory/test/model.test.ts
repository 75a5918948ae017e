import { describe, it } from "@effect/vitest"
import { StorageModel } from "@quotewire/core/testing"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect } from "effect"

describe("in random histories,", () => {
  it.effect.prop(
    "the in-memory storage behaves like the model",
    [StorageModel.histories],
    ([history]) => StorageModel.compare(history).pipe(Effect.provide(MemoryStorage.layer)),
    { arbitrary: { runs: 400, size: 120 }, timeout: 120_000 }
  )
})
