import { Effect, Latch } from "effect"

/** A wake-up that is remembered until someone waits for it. */
export interface Signal {
  readonly wake: () => void
  /** Waits for the next wake-up, at most this many milliseconds. Returns whether there was one. */
  readonly next: (at_most_ms: number) => Effect.Effect<boolean>
}

/** Makes a signal that nobody has woken yet. */
export const make = (): Signal => {
  const woken = Latch.makeUnsafe()
  return {
    wake: () => void woken.openUnsafe(),
    next: (atMostMs) =>
      Effect.map(Effect.timeoutOption(woken.await, atMostMs), (awaited) => {
        if (awaited._tag === "None") return false
        woken.closeUnsafe()
        return true
      })
  }
}
