import { Context, Effect, Scope } from "effect"

/** The scope of an embedded service that `close` closes first; null outside an embedded service. */
export const ClosingScope = Context.Reference<Scope.Scope | null>("@quotewire/core/ClosingScope", {
  defaultValue: () => null
})

/**
 * Registers an effect that runs as soon as the embedded service is closed, so that a host can refuse new calls and
 * drain.
 *
 * `close` runs all registered effects concurrently, and waits for all of them before it releases anything, so give the
 * effect a time limit. Call this inside `run`. Outside an embedded service, the effect runs when the scope closes.
 */
export const whenClosing = (effect: Effect.Effect<void>): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = (yield* ClosingScope) ?? (yield* Effect.scope)
    yield* Scope.addFinalizer(scope, effect)
  })
