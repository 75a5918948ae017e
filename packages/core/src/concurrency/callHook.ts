import { Effect, Predicate } from "effect"

/**
 * Calls a function that the program has given to be told something.
 *
 * A promise is not waited for. What the function throws, or its promise rejects with, goes to `failed`: an unhandled rejection
 * would end the process.
 */
export const callHook = (hook: () => unknown, failed: (thrown: unknown) => Effect.Effect<void>): Effect.Effect<void> =>
  Effect.suspend(() => {
    try {
      const returned = hook()
      if (!Predicate.isPromiseLike(returned)) return Effect.void
      // Handled at once: Node reports a rejection before the fiber begins.
      const settled = Promise.resolve(returned).then(
        () => Effect.void,
        (thrown) => failed(thrown)
      )
      return Effect.asVoid(Effect.forkDetach(Effect.flatten(Effect.promise(() => settled))))
    } catch (thrown) {
      return failed(thrown)
    }
  })
