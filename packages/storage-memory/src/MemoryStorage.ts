import { Hints, kinds, Storage } from "@quotewire/core"
import { Effect, Layer, Option } from "effect"
import { Store } from "./Store.ts"

/**
 * A storage in the memory of this process, for development, tests and embedding. Its data is lost when the layer closes.
 *
 * @example
 * program.pipe(Effect.provide(MemoryStorage.layer))
 */
export const layer: Layer.Layer<Storage.Storage> = Layer.sync(Storage.Storage, () => {
  const store = new Store()
  const hints = new Hints.Hints()
  return Storage.Storage.of({
    commit: (change) =>
      Effect.suspend(() => {
        const refusal = store.commit(change)
        if (refusal !== null) return Effect.fail(refusal)
        return hints.notify(Hints.hintsOf(change, kinds))
      }),
    get: (key) => Effect.sync(() => Option.fromUndefinedOr(store.get(key))),
    page: (query) => Effect.sync(() => store.page(query)),
    feed: (query) => Effect.sync(() => store.feed(query)),
    claim: (query) => Effect.sync(() => store.claim(query)),
    release: (leases) => Effect.sync(() => store.release(leases)),
    erase: (erasure) =>
      Effect.suspend(() => {
        const erased = store.erase(erasure)
        if (erased instanceof Storage.VersionConflict) return Effect.fail(erased)
        const { workspace_id } = erasure
        return Effect.as(
          hints.notify(erasure.what === "workspace" ? [{ about: "workspace", workspace_id }] : []),
          erased
        )
      }),
    addCounts: (now, tallies) => Effect.sync(() => store.tally(now, tallies)),
    watch: hints.watch,
    workspaces: (after, limit) => Effect.sync(() => store.workspaceIds(after, limit)),
    ready: Effect.void
  })
})
