import { Effect, type Scope } from "effect"
import type { Change, Hint } from "./Change.ts"
import type { Kinds } from "./Kind.ts"

/** The listeners of a storage: an implementation of `watch` for every storage. */
export class Hints {
  private readonly listeners = new Set<(hint: Hint) => void>()

  /** Calls the listener with every hint, until the scope closes. */
  readonly watch = (listener: (hint: Hint) => void): Effect.Effect<void, never, Scope.Scope> =>
    Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => {
          // Wrapped, so that a listener that was registered twice is called twice, and removed one at a time.
          const own = (hint: Hint) => listener(hint)
          this.listeners.add(own)
          return own
        }),
        (own) => Effect.sync(() => this.listeners.delete(own))
      )
    )

  /** Calls all listeners. If one throws, that is logged: the change stays stored. */
  readonly notify = (hints: ReadonlyArray<Hint>): Effect.Effect<void> =>
    Effect.suspend(() => {
      const thrown: Array<unknown> = []
      for (const hint of hints) {
        // A copy, because listeners may be added or removed meanwhile.
        for (const listener of [...this.listeners]) {
          try {
            listener(hint)
          } catch (error) {
            thrown.push(error)
          }
        }
      }
      return thrown.length === 0 ? Effect.void : Effect.logError("A listener to storage has failed", ...thrown)
    })
}

/** The hints of a change. */
export const hintsOf = (change: Change, kinds: Kinds): ReadonlyArray<Hint> => {
  const changed = new Set<string>()
  for (const { kind, id, parent } of change.writes) {
    const { wakes } = kinds.byName(kind)
    if (wakes === "itself") changed.add(id)
    if (wakes === "parent" && parent !== null) changed.add(parent)
  }
  const hints: Array<Hint> = [...changed].map((id) => ({ about: "record", id }))
  if (change.jobs.length > 0 || change.finishes.length > 0 || change.clock_offset_ms !== null) {
    hints.push({ about: "jobs", workspace_id: change.workspace_id })
  }
  return hints
}
