import type { Change, Hint } from "./Change.ts"

/** Who wants to hear of commits: what every storage keeps for `watch`. */
export class Hints {
  private readonly listeners = new Set<(hint: Hint) => void>()

  /** Begins to listen; answers how to cease. */
  listen(listener: (hint: Hint) => void): () => void {
    // Its own function, so that a listener that is given twice hears twice, and ceases one at a time.
    const own = (hint: Hint) => listener(hint)
    this.listeners.add(own)
    return () => {
      this.listeners.delete(own)
    }
  }

  /** Tells of what is stored, and answers what the listeners have thrown: the change stays stored. */
  tell(hints: ReadonlyArray<Hint>): ReadonlyArray<unknown> {
    const thrown: Array<unknown> = []
    for (const hint of hints) {
      // A copy, because a listener may begin or cease to listen.
      for (const listener of [...this.listeners]) {
        try {
          listener(hint)
        } catch (error) {
          thrown.push(error)
        }
      }
    }
    return thrown
  }
}

/** What a change gives reason to look at. */
export const hintsOf = (change: Change): ReadonlyArray<Hint> => {
  const requests = new Set<string>()
  for (const { kind, id, parent } of change.writes) {
    if (kind === "quote_request") requests.add(id)
    if (kind === "quote" && parent !== null) requests.add(parent)
  }
  const hints: Array<Hint> = [...requests].map((id) => ({ about: "quote_request", id }))
  if (change.jobs.length > 0 || change.finishes.length > 0 || change.clock_offset_ms !== null) {
    hints.push({ about: "jobs", workspace_id: change.workspace_id })
  }
  return hints
}
