import { Effect } from "effect"

/**
 * Does a round again and again, for ever.
 *
 * One that fails or dies is logged under the name, and the next one comes after the pause, in milliseconds: no single
 * round ends the work of a process in silence. What interrupts it from outside ends it.
 */
export const forever = <E, R>(
  name: string,
  round: Effect.Effect<unknown, E, R>,
  pause_ms: number
): Effect.Effect<never, never, R> =>
  round.pipe(
    Effect.catchCause((cause) =>
      Effect.andThen(Effect.logError(`${name} has failed; trying again`, cause), Effect.sleep(pause_ms))
    ),
    Effect.forever
  )
