import { setTimeout as pause } from "node:timers/promises"
import { Cause, Clock, Effect, Exit } from "effect"

/*
 * The one way in which tests wait for another process, a socket or a database: look again until the event has
 * happened. Only the test's own timeout ends the wait, so a slow machine fails no test.
 */

const turnMs = 5

/**
 * Waits until a condition holds. Fails early if `unless` does, such as the work that makes the condition true.
 */
export const waitUntil = async (
  holds: () => boolean | Promise<boolean>,
  { signal, unless }: { readonly signal?: AbortSignal; readonly unless?: Promise<unknown> } = {}
): Promise<void> => {
  const failures: Array<unknown> = []
  unless?.catch((error: unknown) => failures.push(error))
  while (!(await holds())) {
    if (failures.length > 0) throw failures[0]
    await pause(turnMs, undefined, { signal })
  }
}

/** Runs an Effect in real time, even under a test clock: what happens outside this process knows no other. */
export const inRealTime = Effect.provideService(Clock.Clock, Clock.Clock.defaultValue())

/** Waits until a condition holds. */
export const until = (holds: () => boolean): Effect.Effect<void> =>
  Effect.promise((signal) => waitUntil(holds, { signal })).pipe(
    Effect.onInterrupt(() => Effect.sync(() => console.error(`Did not hold in time: ${holds}`)))
  )

/** Retries an Effect until it succeeds, and returns its result. */
export const eventually = <A, E, R>(program: Effect.Effect<A, E, R>): Effect.Effect<A, never, R> =>
  Effect.suspend(() => {
    let last: Cause.Cause<E> = Cause.empty
    const tries = Effect.gen(function* () {
      while (true) {
        const tried = yield* Effect.exit(program)
        if (Exit.isSuccess(tried)) return tried.value
        last = tried.cause
        yield* Effect.sleep(turnMs)
      }
    })
    return inRealTime(tries).pipe(
      Effect.onInterrupt(() => Effect.sync(() => console.error(`Did not succeed in time: ${Cause.pretty(last)}`)))
    )
  })
