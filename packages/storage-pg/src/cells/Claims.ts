import type { Storage } from "@quotewire/core"
import { Effect, Metric } from "effect"
import { type CellState, unavailable } from "./CellState.ts"

/**
 * How often a cell is asked even without a hint, in milliseconds, because hints can be lost. While a cell's storage
 * receives hints, it responds without querying its database.
 */
const pollMs = 1_000

const claimedJobs = Metric.counter("quotewire_cell_jobs_claimed_total", {
  description: "Jobs that this process has claimed, by cell.",
  incremental: true
})

/** Claims jobs from the cells in turn, up to the limit. Fails only if no cell responds. */
export type Claim = (query: Storage.ClaimQuery) => Effect.Effect<Storage.JobClaim, Storage.StorageUnavailable>

/** Whether a cell may have something to claim. */
const mayHaveWork = ({ claimed_at, running_claims, isHinted, next_due_at }: CellState, now: number): boolean =>
  isHinted ||
  running_claims > 0 ||
  (next_due_at !== null && next_due_at <= now) ||
  now < claimed_at ||
  now - claimed_at >= pollMs

const earlier = (a: number | null, b: number | null): number | null =>
  a === null ? b : b === null ? a : Math.min(a, b)

/**
 * Creates the claim over all cells. It asks them round-robin, so that no cell starves, and skips cells that have
 * nothing due.
 */
export const make = (cells: ReadonlyArray<CellState>): Claim => {
  let first = 0

  const claimFrom = Effect.fnUntraced(function* (cell: CellState, query: Storage.ClaimQuery) {
    const { storage } = cell
    if (storage === null || cell.isUnavailable) return null
    cell.isHinted = false
    cell.running_claims += 1
    cell.claimed_at = query.now
    const claimed = yield* storage.claim(query).pipe(
      Effect.catchTag("StorageUnavailable", () => Effect.succeed(null)),
      Effect.ensuring(
        Effect.sync(() => {
          cell.running_claims -= 1
        })
      )
    )
    if (claimed === null) return null
    // If this host dies, its jobs can be claimed again when their leases end.
    const endsAt = claimed.jobs.length > 0 ? query.now + query.lease_ms : null
    cell.next_due_at = earlier(claimed.next_due_at, endsAt)
    if (claimed.jobs.length > 0) {
      yield* Metric.update(Metric.withAttributes(claimedJobs, { cell: cell.name }), claimed.jobs.length)
    }
    return claimed
  })

  return Effect.fnUntraced(function* (query: Storage.ClaimQuery) {
    const order = [...cells.slice(first), ...cells.slice(0, first)]
    first = (first + 1) % cells.length
    let jobs: Storage.JobClaim["jobs"] = []
    let next_due_at: number | null = null
    for (const cell of order) {
      if (cell.storage === null || cell.isUnavailable) continue
      if (!mayHaveWork(cell, query.now)) next_due_at = earlier(next_due_at, cell.next_due_at)
      else if (query.limit > 0 && jobs.length === query.limit) next_due_at = earlier(next_due_at, query.now)
      else {
        const claimed = yield* claimFrom(cell, { ...query, limit: query.limit - jobs.length })
        if (claimed === null) continue
        jobs = [...jobs, ...claimed.jobs]
        next_due_at = earlier(next_due_at, claimed.next_due_at)
      }
    }
    if (cells.every(({ isUnavailable, storage }) => storage === null || isUnavailable)) return yield* unavailable
    return { jobs, next_due_at, busy: false }
  })
}
