import { Deferred, Effect } from "effect"

/** A wake-up that is remembered until someone waits for it. */
export interface Signal {
  readonly wake: () => void
  /** Waits for the next wake-up, at most this many milliseconds. Returns whether there was one. */
  readonly next: (at_most_ms: number) => Effect.Effect<boolean>
}

/** Makes a signal that nobody has woken yet. */
export const make = (): Signal => {
  let deferred = Deferred.makeUnsafe<void>()
  return {
    wake: () => void Deferred.doneUnsafe(deferred, Effect.void),
    next: (at_most_ms) =>
      Effect.map(Effect.timeoutOption(Deferred.await(deferred), at_most_ms), (woken) => {
        if (woken._tag === "None") return false
        deferred = Deferred.makeUnsafe()
        return true
      })
  }
}
