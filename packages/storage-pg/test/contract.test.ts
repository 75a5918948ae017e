import { layer } from "@effect/vitest"
import { StorageContract } from "@quotewire/core/testing"
import { Effect } from "effect"
import { onEmpty, storage, TwoHosts } from "./support/storage.ts"

layer(storage)("the PostgreSQL storage", (it) => {
  for (const { name, needs, run } of StorageContract.cases) {
    it.effect.skipIf(needs === "cells")(name, () => onEmpty(run))
  }
})

layer(TwoHosts.layer)("the PostgreSQL storage, used by two hosts", (it) => {
  for (const { name, run } of StorageContract.twoHostsCases) {
    it.effect(name, () => onEmpty(Effect.flatMap(TwoHosts, ([one, other]) => run(one, other))))
  }
})
