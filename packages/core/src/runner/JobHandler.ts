import type { Effect } from "effect"
import type { ClaimedJob, JobKind } from "../storage/Job.ts"
import type { LeaseLost, StorageUnavailable, VersionConflict } from "../storage/Storage.ts"

/**
 * Does one job. Its commit also finishes the job, so that the results and the job's end are stored together. The commit
 * must be the handler's last action, because the changes of several jobs may be committed together after all of them
 * have run (`Staging`).
 *
 * `at` is the time of the work in milliseconds of workspace time: the due time of an ordered job, and otherwise the
 * current time. After a `VersionConflict`, the handler is called again and decides again.
 */
export type JobHandler = (
  job: ClaimedJob,
  at: number
) => Effect.Effect<void, VersionConflict | LeaseLost | StorageUnavailable>

/** A handler for each of these kinds of job. */
export type JobHandlers<Kind extends JobKind> = { readonly [K in Kind]: JobHandler }
