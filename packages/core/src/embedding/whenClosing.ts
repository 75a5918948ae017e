import { Context, Effect, Scope } from "effect"

/** The scope that `close` of an embedded service closes first; null outside of one. */
export const ClosingScope = Context.Reference<Scope.Scope | null>("@quotewire/core/ClosingScope", {
  defaultValue: () => null
})

/**
 * Runs an effect as soon as `close` of the embedded service is called, at the same time as all others.
 *
 * `close` waits for it before it releases anything. Hosts refuse new calls with it, and wait for running ones: it needs a
 * bound of its own. Call it inside `run`; in any other program, the effect runs when the scope closes.
 */
export const whenClosing = (effect: Effect.Effect<void>): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = (yield* ClosingScope) ?? (yield* Effect.scope)
    yield* Scope.addFinalizer(scope, effect)
  })
