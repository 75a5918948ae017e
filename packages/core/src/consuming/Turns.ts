import { Deferred, Effect, Semaphore } from "effect"

/** Decides when this process's handlers run: together, or one alone to find out which event kills the process. */
export interface Turns {
  /** Runs a handler together with others, while none runs alone. */
  readonly together: <A, E, R>(handler: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Waits until no handler runs, then runs one alone. Handlers that arrive in the meantime wait. */
  readonly alone: <A, E, R>(handler: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** When an event that kills processes was last found, in milliseconds of real time; null if none was. */
  readonly killer_found_at: () => number | null
  /** Notes when such an event was found. Events that may have run at the same time are no longer suspects. */
  readonly noteKiller: (at: number) => void
}

/** Makes the turns for this process. No handler is running. */
export const make = (): Turns => {
  const oneAlone = Semaphore.makeUnsafe(1)
  /** How many handlers run together, and how many run alone or are waiting to. */
  let running = 0
  let solitary = 0
  let isEmpty: Deferred.Deferred<void> | null = null
  let foundAt: number | null = null

  const leave = Effect.sync(() => {
    running--
    if (running === 0 && isEmpty !== null) Deferred.doneUnsafe(isEmpty, Effect.void)
  })
  const emptied = Effect.suspend(() => {
    if (running === 0) return Effect.void
    isEmpty = Deferred.makeUnsafe<void>()
    return Deferred.await(isEmpty)
  })
  const count = (by: number) =>
    Effect.sync(() => {
      solitary += by
    })

  const together: Turns["together"] = (handler) =>
    Effect.uninterruptibleMask((restore) => {
      if (solitary > 0) return restore(Effect.andThen(oneAlone.withPermit(Effect.void), together(handler)))
      running++
      return Effect.ensuring(restore(handler), leave)
    })

  return {
    together,
    alone: (handler) =>
      Effect.acquireUseRelease(
        count(1),
        () => oneAlone.withPermit(Effect.andThen(emptied, handler)),
        () => count(-1)
      ),
    killer_found_at: () => foundAt,
    noteKiller: (at) => {
      foundAt = at
    }
  }
}
