import { describe, it } from "@effect/vitest"
import { Storage } from "@quotewire/core"
import { StorageContract } from "@quotewire/core/testing"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect } from "effect"

describe("the in-memory storage", () => {
  for (const { name, needs, run } of StorageContract.cases) {
    it.effect.skipIf(needs !== undefined && needs !== "backlog")(name, () =>
      run.pipe(Effect.provide(MemoryStorage.layer))
    )
  }

  for (const { name, run } of StorageContract.twoHostsCases) {
    it.effect(`for two hosts: ${name}`, () =>
      Effect.flatMap(Storage.Storage, (shared) => run(shared, shared)).pipe(Effect.provide(MemoryStorage.layer))
    )
  }
})
