import { Effect, Predicate } from "effect"

/**
 * Calls a function of the embedding program, such as `on_expired`, and handles its failure.
 *
 * It does not wait for a promise. What the function throws, or its promise rejects with, goes to `failed`: an unhandled
 * rejection would end the process.
 */
export const callHook = (hook: () => unknown, failed: (thrown: unknown) => Effect.Effect<void>): Effect.Effect<void> =>
  Effect.suspend(() => {
    try {
      const returned = hook()
      if (!Predicate.isPromiseLike(returned)) return Effect.void
      // Attached here and not in the fiber: that would start too late, when Node has already reported the rejection.
      const settled = Promise.resolve(returned).then(
        () => Effect.void,
        (thrown) => failed(thrown)
      )
      return Effect.asVoid(Effect.forkDetach(Effect.flatten(Effect.promise(() => settled))))
    } catch (thrown) {
      return failed(thrown)
    }
  })
