import { Context, Effect, Layer } from "effect"
import * as Signal from "../Signal.ts"
import { Storage } from "./Storage.ts"

/** How many calls may wait at once in one process; one more is answered without waiting. */
export const max_waiting = 20_000

/** Hints can be lost: who waits looks again at least this often. */
export const poll_ms = 5_000

/** Why a wait is over. `changed` is a reason to look: a hint, or so long without one that it may have been lost. */
export type Woken = "changed" | "time_over" | "stopping"

/** Waits for the next hint, at most so many milliseconds. Hints since the turn before are not lost. */
export type NextHint = (at_most_ms: number) => Effect.Effect<Woken>

/** Lets calls wait for a record to change, without holding anything of storage. */
export class Waiters extends Context.Service<
  Waiters,
  {
    /** Runs a body that reads and waits by turns; it listens from before the first read until it ends, however it ends. */
    readonly listening: <A, E, R>(
      id: string,
      body: (next: NextHint) => Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E, R>
    /** Ends all waits, now and from now on: the process is about to stop. */
    readonly stop: Effect.Effect<void>
    /** How many listen now. */
    readonly count: Effect.Effect<number>
  }
>()("@quotewire/core/Waiters") {
  static readonly layer: Layer.Layer<Waiters, never, Storage> = Layer.effect(
    Waiters,
    Effect.gen(function* () {
      const storage = yield* Storage
      const listeners = new Map<string, Set<Signal.Signal>>()
      let count = 0
      let stopping = false

      const wakeAll = () => {
        for (const group of listeners.values()) for (const listener of group) listener.wake()
      }
      yield* storage.watch((hint) => {
        if (hint.about === "workspace") wakeAll()
        if (hint.about === "quote_request") for (const listener of listeners.get(hint.id) ?? []) listener.wake()
      })

      const join = (id: string): Signal.Signal => {
        const listener = Signal.make()
        const others = listeners.get(id) ?? new Set()
        listeners.set(id, others.add(listener))
        count++
        return listener
      }
      const leave = (id: string, listener: Signal.Signal): void => {
        const others = listeners.get(id)
        others?.delete(listener)
        if (others?.size === 0) listeners.delete(id)
        count--
      }

      const listening = <A, E, R>(id: string, body: (next: NextHint) => Effect.Effect<A, E, R>) =>
        Effect.acquireUseRelease(
          Effect.sync(() => join(id)),
          (listener) =>
            body((at_most_ms) =>
              Effect.suspend(() => {
                if (stopping || count > max_waiting) return Effect.succeed<Woken>("stopping")
                const looksAgain = at_most_ms > poll_ms
                return Effect.map(
                  listener.next(Math.min(at_most_ms, poll_ms)),
                  (woken): Woken => (stopping ? "stopping" : woken || looksAgain ? "changed" : "time_over")
                )
              })
            ),
          (listener) => Effect.sync(() => leave(id, listener))
        )

      return Waiters.of({
        listening,
        stop: Effect.sync(() => {
          stopping = true
          wakeAll()
        }),
        count: Effect.sync(() => count)
      })
    })
  )
}
