import { layer } from "@effect/vitest"
import { Storage } from "@quotewire/core"
import { StorageContract, StorageModel } from "@quotewire/core/testing"
import { PgCells } from "@quotewire/storage-pg/cells"
import { Effect, Layer } from "effect"
import { ClaimTimeout } from "../src/cells/TimedClaim.ts"
import { emptyAll, FourCells } from "./support/cells.ts"

const storage = Layer.unwrap(Effect.map(FourCells, ({ cells }) => PgCells.layer(cells))).pipe(
  Layer.provideMerge(FourCells.layer),
  // A long limit: the rules are not about slow cells, and a busy machine is slow.
  Layer.provide(Layer.succeed(ClaimTimeout, 60_000))
)

/** A claim so late that every cell is asked, which replaces what was known about the emptied cells. */
const forget = Effect.flatMap(Storage.Storage, (storage) => storage.claim({ now: 1e12, lease_ms: 1, limit: 0 }))

const onEmpty = <A, E, R>(test: Effect.Effect<A, E, R>) => emptyAll.pipe(Effect.andThen(forget), Effect.andThen(test))

layer(storage, { timeout: 60_000 })("a storage of four cells on two servers", (it) => {
  for (const { name, needs, run } of StorageContract.cases) {
    it.effect.skipIf(needs === "moving")(name, () => onEmpty(run))
  }

  it.effect.prop(
    "behaves like the storage model in random histories",
    [StorageModel.histories],
    ([history]) => onEmpty(StorageModel.compare(history)),
    { arbitrary: { runs: 10, size: 60 }, timeout: 300_000 }
  )
})
