import type { Effect } from "effect"
import type { ClaimedJob, JobKind } from "../storage/Job.ts"
import type { LeaseLost, StorageUnavailable, VersionConflict } from "../storage/Storage.ts"

/**
 * Does one job. What it commits finishes the job, so that the work and its end are one step.
 *
 * `at` is the moment of the work in milliseconds of workspace time: its due time where the job is ordered, else now.
 * After a `VersionConflict` it is called again and decides anew.
 */
export type JobHandler = (
  job: ClaimedJob,
  at: number
) => Effect.Effect<void, VersionConflict | LeaseLost | StorageUnavailable>

/** The handlers of the kinds of job that a service does. */
export type JobHandlers<Kind extends JobKind> = { readonly [K in Kind]: JobHandler }
