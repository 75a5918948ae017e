import { Effect } from "effect"

/**
 * Runs a round again and again, forever.
 *
 * If a round fails or dies, this logs that with `name`, and the next round starts after the pause, in milliseconds. So
 * no single failure silently stops a background task. Interruption ends it.
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
