import type { Storage } from "@quotewire/core"
import { Effect, Metric } from "effect"
import { type CellState, first_look_again_ms, unavailable } from "./CellState.ts"

/** Hints can be lost, so each cell is asked for work at least this often. */
const max_look_again_ms = 30_000

const claimed_jobs = Metric.counter("quotewire_cell_jobs_claimed_total", {
  description: "Jobs that this process has claimed, by cell.",
  incremental: true
})

/** Claims from the cells in turn, up to the limit. Fails only if no cell answers. */
export type Claim = (query: Storage.ClaimQuery) => Effect.Effect<Storage.JobClaim, Storage.StorageUnavailable>

/** Whether a cell may have something to claim. */
const mayHaveWork = ({ asked_at, asking, isHinted, look_again_ms, next_due_at }: CellState, now: number): boolean =>
  isHinted ||
  asking > 0 ||
  (next_due_at !== null && next_due_at <= now) ||
  now < asked_at ||
  now - asked_at >= look_again_ms

const earlier = (one: number | null, other: number | null): number | null =>
  one === null ? other : other === null ? one : Math.min(one, other)

/**
 * Claims from cells: each claim begins with the next cell, and skips those that have nothing due. So no cell waits forever, and
 * an idle cell costs one claim in half a minute.
 */
export const make = (cells: ReadonlyArray<CellState>): Claim => {
  let first = 0

  const claimFrom = Effect.fnUntraced(function* (cell: CellState, query: Storage.ClaimQuery) {
    const { isHinted, storage } = cell
    if (storage === null || cell.isAway) return null
    cell.isHinted = false
    cell.asking += 1
    cell.asked_at = query.now
    const claimed = yield* storage.claim(query).pipe(
      Effect.catchTag("StorageUnavailable", () => Effect.succeed(null)),
      Effect.ensuring(
        Effect.sync(() => {
          cell.asking -= 1
        })
      )
    )
    if (claimed === null) return null
    // If a host dies, its jobs can be claimed again when their leases end.
    const ends_at = claimed.jobs.length > 0 ? query.now + query.lease_ms : null
    cell.next_due_at = earlier(claimed.next_due_at, ends_at)
    const isIdle = claimed.jobs.length === 0 && !isHinted
    cell.look_again_ms = isIdle ? Math.min(max_look_again_ms, 2 * cell.look_again_ms) : first_look_again_ms
    if (claimed.jobs.length > 0) {
      yield* Metric.update(Metric.withAttributes(claimed_jobs, { cell: cell.name }), claimed.jobs.length)
    }
    return claimed
  })

  return Effect.fnUntraced(function* (query: Storage.ClaimQuery) {
    const order = [...cells.slice(first), ...cells.slice(0, first)]
    first = (first + 1) % cells.length
    let jobs: Storage.JobClaim["jobs"] = []
    let next_due_at: number | null = null
    for (const cell of order) {
      if (cell.storage === null || cell.isAway) continue
      if (!mayHaveWork(cell, query.now)) next_due_at = earlier(next_due_at, cell.next_due_at)
      else if (query.limit > 0 && jobs.length === query.limit) next_due_at = earlier(next_due_at, query.now)
      else {
        const claimed = yield* claimFrom(cell, { ...query, limit: query.limit - jobs.length })
        if (claimed === null) continue
        jobs = [...jobs, ...claimed.jobs]
        next_due_at = earlier(next_due_at, claimed.next_due_at)
      }
    }
    if (cells.every(({ isAway, storage }) => storage === null || isAway)) return yield* unavailable
    return { jobs, next_due_at, busy: false }
  })
}
