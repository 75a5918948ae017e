import { Effect } from "effect"

/**
 * Runs a command that prints until it is stopped. If its output is closed, as in `… | head -1`, the command ends
 * without an error.
 */
export const untilClosed = <A, E, R>(printing: Effect.Effect<A, E, R>): Effect.Effect<void, E, R> =>
  Effect.raceFirst(Effect.asVoid(printing), closed)

const closed = Effect.callback<void>((resume) => {
  const listener = () => resume(Effect.void)
  process.stdout.once("error", listener)
  return Effect.sync(() => process.stdout.off("error", listener))
})
