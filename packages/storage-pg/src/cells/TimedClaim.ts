import type { Storage } from "@quotewire/core"
import { Cause, Context, Effect, Exit, type Fiber } from "effect"
import { type CellState, firstRetryPauseMs, unavailable } from "./CellState.ts"

/** How long a cell may take to respond to a claim over all workspaces, in milliseconds. 1,000 by default. */
export const ClaimTimeout: Context.Reference<number> = Context.Reference("@quotewire/storage-pg/ClaimTimeout", {
  defaultValue: () => 1_000
})

type Fork = <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>

/**
 * Creates a claim with a timeout for a cell, so that a cell that does not respond does not delay the others.
 *
 * A claim that times out continues in the background. The next claim returns the jobs that the late claim leased, so a
 * slow cell's jobs still run. If no claim follows within half of the lease time, those jobs are released.
 */
export const make = (
  run: Fork,
  cell: CellState,
  storage: Storage.Storage["Service"],
  timeoutMs: number
): Storage.Storage["Service"]["claim"] => {
  let late: Storage.JobClaim["jobs"] = []
  const putBack = (jobs: Storage.JobClaim["jobs"]) => {
    if (jobs.length > 0) run(Effect.ignore(storage.release(jobs)))
  }

  const ask = (query: Storage.ClaimQuery) =>
    Effect.callback<Storage.JobClaim, Storage.StorageUnavailable>((resume) => {
      let isLate = false
      let isTooLate = false
      let claimedJobs: Storage.JobClaim["jobs"] = []
      const claiming = run(storage.claim(query))
      const expire = Effect.sync(() => {
        isTooLate = true
        if (late !== claimedJobs) return
        late = []
        putBack(claimedJobs)
      })
      const timeOut = Effect.sync(() => {
        isLate = true
        resume(Effect.fail(unavailable))
        run(Effect.delay(expire, query.lease_ms / 2))
      })
      const timer = run(Effect.delay(timeOut, timeoutMs))
      claiming.addObserver((exit) => {
        timer.interruptUnsafe()
        if (!isLate) return resume(answerOf(exit))
        if (Exit.isFailure(exit)) return
        // The cell was slow but works, so its next failure starts with a short retry pause again.
        cell.retry_pause_ms = firstRetryPauseMs
        claimedJobs = exit.value.jobs
        if (isTooLate || late.length > 0) putBack(claimedJobs)
        else late = claimedJobs
      })
    })

  return (query: Storage.ClaimQuery) =>
    Effect.suspend(() => {
      if (late.length === 0) return ask(query)
      const jobs = late.slice(0, query.limit)
      putBack(late.slice(query.limit))
      late = []
      // These jobs were leased some time ago. Other jobs may be due by now, so the cell must be asked again.
      cell.isHinted = true
      return Effect.succeed<Storage.JobClaim>({ jobs, next_due_at: query.now, busy: false })
    })
}

/**
 * Converts the end of a claim into its result. If the claim was interrupted, the storage was closed and is unavailable.
 */
const answerOf = (exit: Exit.Exit<Storage.JobClaim, Storage.StorageUnavailable>) =>
  Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause) ? Effect.fail(unavailable) : exit
