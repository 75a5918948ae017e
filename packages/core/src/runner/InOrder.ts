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

/** Runs claimed jobs one after another. */
export type InOrder = <R>(
  jobs: ReadonlyArray<ClaimedJob>,
  runOne: (job: ClaimedJob) => Effect.Effect<void, StorageUnavailable, R>
) => Effect.Effect<void, StorageUnavailable, R>

/**
 * Runs claimed jobs one after another, for as long as the scope lives.
 *
 * Where it is broken off, or storage is away, it hands back what is not done, now or when storage is back: only what a
 * dead process has held has to wait for the end of a lease.
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

  return (jobs, runOne) =>
    Effect.suspend(() => {
      const left = new Set(jobs)
      const run = (job: ClaimedJob) =>
        Effect.map(runOne(job), () => {
          left.delete(job)
        })
      return Effect.onError(Effect.forEach(jobs, run, { discard: true }), () => handBack([...left]))
    })
})
