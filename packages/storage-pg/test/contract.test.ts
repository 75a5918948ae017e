import { layer } from "@effect/vitest"
import { StorageContract } from "@quotewire/core/testing"
import { onEmpty, storage } from "./support/storage.ts"

layer(storage)("the PostgreSQL storage", (it) => {
  for (const { name, run } of StorageContract.cases) it.effect(name, () => onEmpty(run))
})
