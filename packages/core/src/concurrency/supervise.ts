import { Effect } from "effect"

/**
 * Repeats a round forever.
 *
 * A round that fails or dies is logged with the name, and the next one starts after the pause, in milliseconds. So no
 * single failure silently stops a background task. Interruption ends it.
 */
export const repeatForever = <E, R>(
  name: string,
  round: Effect.Effect<unknown, E, R>,
  pauseMs: number
): Effect.Effect<never, never, R> =>
  round.pipe(
    Effect.catchCause((cause) =>
      Effect.andThen(Effect.logError(`${name} failed; retrying`, cause), Effect.sleep(pauseMs))
    ),
    Effect.forever
  )
