import { Deferred, Effect, Semaphore } from "effect"

/**
 * Decides when this process's handlers run: several handlers concurrently, or one handler alone, to find out which
 * event kills the process.
 */
export interface HandlerLock {
  /** Runs a handler concurrently with other handlers. While another handler runs alone, this handler waits. */
  readonly together: <A, E, R>(handler: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Waits until no handler is running, and then runs a handler alone. Handlers that arrive in the meantime wait. */
  readonly alone: <A, E, R>(handler: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /**
   * When an event that kills processes was last found, in milliseconds of real time; null if no such event has been
   * found.
   */
  readonly killer_found_at: () => number | null
  /**
   * Notes that an event that kills processes was found. Events that may have run at the same time are then no longer
   * suspects.
   */
  readonly noteKiller: (at: number) => void
}

/** Makes the lock of this process. No handler is running yet. */
export const make = (): HandlerLock => {
  const oneAlone = Semaphore.makeUnsafe(1)
  /** How many handlers run together, and how many run alone or wait to run alone. */
  let running = 0
  let solitary = 0
  let whenEmpty: Deferred.Deferred<void> | null = null
  let foundAt: number | null = null

  const leave = Effect.sync(() => {
    running--
    if (running === 0 && whenEmpty !== null) Deferred.doneUnsafe(whenEmpty, Effect.void)
  })
  const emptied = Effect.suspend(() => {
    if (running === 0) return Effect.void
    whenEmpty = Deferred.makeUnsafe<void>()
    return Deferred.await(whenEmpty)
  })
  const count = (change: number) =>
    Effect.sync(() => {
      solitary += change
    })

  const together: HandlerLock["together"] = (handler) =>
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
    noteKiller: (diedAt) => {
      foundAt = diedAt
    }
  }
}
