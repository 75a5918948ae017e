import { Effect, FiberSet, Schedule, type Scope } from "effect"
import type { ClaimedJob } from "../storage/Job.ts"
import type { Storage, StorageUnavailable } from "../storage/Storage.ts"

/** How what is not done is handed back. */
export interface Patience {
  /** How often it is tried again while storage is away, in milliseconds. */
  readonly every_ms: number
  /** How long: after that the leases have ended by themselves, in milliseconds. */
  readonly lease_ms: number
}

/** Runs claimed jobs one after another; `runOne` answers whether the job was done. */
export type InOrder = <R>(
  jobs: ReadonlyArray<ClaimedJob>,
  runOne: (job: ClaimedJob) => Effect.Effect<boolean, StorageUnavailable, R>
) => Effect.Effect<unknown, StorageUnavailable, R>

/**
 * Runs claimed jobs one after another, for as long as the scope lives.
 *
 * Where it is broken off, or storage is away, it hands back what is not done, now or when storage is back: only what a
 * dead process has held has to wait for the end of a lease. After an ordered job that was not done it hands back those
 * behind it, which wait for that one to come again.
 */
export const make = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  { every_ms, lease_ms }: Patience
): Effect.fn.Return<InOrder, never, Scope.Scope> {
  const later = yield* FiberSet.make()

  const handBack = (jobs: ReadonlyArray<ClaimedJob>): Effect.Effect<void> => {
    const release = storage.release(jobs)
    const again = Effect.retry(release, { schedule: Schedule.spaced(every_ms), times: Math.ceil(lease_ms / every_ms) })
    return Effect.catch(release, () => Effect.asVoid(FiberSet.run(later, Effect.ignore(again))))
  }

  return (jobs, runOne) => {
    const [first] = jobs
    // Most jobs are alone: nothing is behind them.
    if (first !== undefined && jobs.length === 1) return Effect.onError(runOne(first), () => handBack(jobs))
    return Effect.suspend(() => {
      const left = new Set(jobs)
      const after = (job: ClaimedJob, isDone: boolean) => {
        left.delete(job)
        if (isDone || !job.ordered) return Effect.void
        const behind = [...left].filter((other) => other.ordered && other.workspace_id === job.workspace_id)
        return Effect.map(handBack(behind), () => {
          for (const job of behind) left.delete(job)
        })
      }
      const run = (job: ClaimedJob) =>
        left.has(job) ? Effect.flatMap(runOne(job), (isDone) => after(job, isDone)) : Effect.void
      return Effect.onError(Effect.forEach(jobs, run, { discard: true }), () => handBack([...left]))
    })
  }
})
