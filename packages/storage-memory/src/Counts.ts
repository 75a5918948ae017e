import type { Storage } from "@quotewire/core"

/** Counts, grouped by the end of their windows, so that ended ones are dropped together. */
export class Counts {
  private readonly byEnd = new Map<number, Map<string, number>>()

  /** Adds to counts, and returns their totals. */
  add(now: number, tallies: ReadonlyArray<Storage.Tally>): ReadonlyArray<number> {
    for (const end of this.byEnd.keys()) if (end <= now) this.byEnd.delete(end)
    return tallies.map(({ workspace_id, name, window_start, window_ms, added }) => {
      const end = window_start + window_ms
      if (end <= now) return added
      const counts = this.byEnd.get(end) ?? new Map<string, number>()
      this.byEnd.set(end, counts)
      // Windows of different lengths can end together.
      const key = `${workspace_id} ${window_ms} ${name}`
      const total = (counts.get(key) ?? 0) + added
      counts.set(key, total)
      return total
    })
  }
}
