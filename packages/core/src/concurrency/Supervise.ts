import { Effect } from "effect"

/**
 * Runs a round over and over, forever.
 *
 * If a round fails or dies, this logs the failure with `name`, and the next round starts after the pause, in
 * milliseconds. A single failure therefore cannot silently stop a background task. Only interruption stops it.
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
