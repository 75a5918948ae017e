import { Effect } from "effect"
import type { Lease } from "../../src/storage/Job.ts"
import { type ClaimQuery, type RecordKey, type Storage, StorageUnavailable } from "../../src/storage/Storage.ts"

/** Storage is unavailable. */
export const away = Effect.fail(new StorageUnavailable({ retry_after_seconds: 1, why: "SQLSTATE 53100" }))

/** A storage in which one application crashes every reader. */
export const makePoison = () => {
  /** The application whose facts crash every reader. */
  const poison = { id: "", tries: 0 }
  const poisoned = {
    around: (storage: Storage["Service"]) => ({
      ...storage,
      get: (key: RecordKey) =>
        Effect.suspend(() => {
          if (key.kind !== "application" || key.id !== poison.id) return storage.get(key)
          poison.tries++
          return Effect.die("poison")
        })
    })
  }
  return { poison, poisoned }
}

/** A storage that is sometimes unavailable, and in which the next job that reads an application meets a hurdle. */
export const makeHurdle = () => {
  /** What the next job that reads an application encounters, and whether storage is unavailable. */
  const hurdle: { first: Effect.Effect<never, StorageUnavailable> | null; isAway: boolean } = {
    first: null,
    isAway: false
  }
  const unlessAway = <A, E>(effect: Effect.Effect<A, E>) =>
    Effect.suspend((): Effect.Effect<A, E | StorageUnavailable> => (hurdle.isAway ? away : effect))
  const hurdled = {
    around: (storage: Storage["Service"]) => ({
      ...storage,
      get: (key: RecordKey) =>
        Effect.suspend(() => {
          const { first } = hurdle
          if (key.kind !== "application" || first === null) return unlessAway(storage.get(key))
          hurdle.first = null
          return first
        }),
      claim: (query: ClaimQuery) => unlessAway(storage.claim(query)),
      release: (leases: ReadonlyArray<Lease>) => unlessAway(storage.release(leases))
    })
  }
  return { hurdle, hurdled }
}
