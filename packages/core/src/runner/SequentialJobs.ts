import { Effect, FiberSet, Schedule, type Scope } from "effect"
import type { ClaimedJob } from "../storage/Job.ts"
import type { Storage, StorageUnavailable } from "../storage/Storage.ts"

/** How jobs that were not done are released. */
export interface ReleaseRetry {
  /** How often the release is retried while storage is unavailable, in milliseconds. */
  readonly every_ms: number
  /** When to stop retrying, because the leases have ended by themselves, in milliseconds. */
  readonly lease_ms: number
}

/** Runs claimed jobs one after another. `runOne` returns whether the job was done. */
export type SequentialJobs = <R>(
  jobs: ReadonlyArray<ClaimedJob>,
  runOne: (job: ClaimedJob) => Effect.Effect<boolean, StorageUnavailable, R>
) => Effect.Effect<unknown, StorageUnavailable, R>

/**
 * Runs claimed jobs one after another, as long as the scope lives.
 *
 * If it is interrupted, or storage is unavailable, it releases the jobs that were not done, at once or when storage is back.
 * So only jobs of a dead process wait for the end of their lease. If an ordered job was not done, it also releases the
 * ordered jobs behind it, which must wait for that one.
 */
export const make = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  { every_ms, lease_ms }: ReleaseRetry
): Effect.fn.Return<SequentialJobs, never, Scope.Scope> {
  const later = yield* FiberSet.make()

  const release = (jobs: ReadonlyArray<ClaimedJob>): Effect.Effect<void> => {
    const releaseOnce = storage.release(jobs)
    const again = Effect.retry(releaseOnce, {
      schedule: Schedule.spaced(every_ms),
      times: Math.ceil(lease_ms / every_ms)
    })
    return Effect.catch(releaseOnce, () => Effect.asVoid(FiberSet.run(later, Effect.ignore(again))))
  }

  return (jobs, runOne) => {
    const [first] = jobs
    // The common case: one job, and nothing behind it.
    if (first !== undefined && jobs.length === 1) return Effect.onError(runOne(first), () => release(jobs))
    return Effect.suspend(() => {
      const left = new Set(jobs)
      const after = (job: ClaimedJob, isDone: boolean) => {
        left.delete(job)
        if (isDone || !job.ordered) return Effect.void
        const behind = [...left].filter((other) => other.ordered && other.workspace_id === job.workspace_id)
        return Effect.map(release(behind), () => {
          for (const job of behind) left.delete(job)
        })
      }
      const run = (job: ClaimedJob) =>
        left.has(job) ? Effect.flatMap(runOne(job), (isDone) => after(job, isDone)) : Effect.void
      return Effect.onError(Effect.forEach(jobs, run, { discard: true }), () => release([...left]))
    })
  }
})
