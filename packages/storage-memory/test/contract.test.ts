import { describe, it } from "@effect/vitest"
import { StorageContract } from "@quotewire/core/testing"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect } from "effect"

describe("the in-memory storage", () => {
  for (const { name, run } of StorageContract.cases) {
    it.effect(name, () => run.pipe(Effect.provide(MemoryStorage.layer)))
  }
})
