import { Cause, Clock, Effect, Option } from "effect"
import { Workspaces } from "../access/Workspaces.ts"
import * as Signal from "../concurrency/Signal.ts"
import type { ClaimedJob } from "../storage/Job.ts"
import { retryOnConflict } from "../storage/retryOnConflict.ts"
import { Storage, type StorageUnavailable } from "../storage/Storage.ts"
import type { WorkspaceId } from "../wire/Ids.ts"
import { second_ms } from "../wire/Timestamp.ts"
import { Handlers } from "./Handlers.ts"
import type { JobHandler } from "./JobHandler.ts"
import * as SequentialJobs from "./SequentialJobs.ts"

/** How long a claimed job belongs to its host. After that, another host takes over the jobs of a dead one. */
export const lease_ms = 30 * second_ms
/** A job whose lease has expired this often is abandoned. A released job's lease has not expired. */
export const max_expired_leases = 5
/** Storage is asked for work at least this often, even without hints. */
export const poll_ms = second_ms

/** Claims jobs and runs them. */
export const make = Effect.gen(function* () {
  const storage = yield* Storage
  const workspaces = yield* Workspaces
  const handlers = yield* Handlers
  const runSequentially = yield* SequentialJobs.make(storage, { every_ms: poll_ms, lease_ms })

  const momentOf = (job: ClaimedJob) =>
    job.ordered
      ? Effect.succeed(job.due_at)
      : Effect.map(workspaces.moment(job.workspace_id), ({ now }) => Math.max(now, job.due_at))

  /**
   * Runs one job, and returns whether it was done. A job that was not done comes due again, and the runner goes on, unless
   * storage is unavailable.
   */
  const run = (job: ClaimedJob): Effect.Effect<boolean, StorageUnavailable> =>
    Effect.flatMap(momentOf(job), (at) =>
      job.expired_leases >= max_expired_leases ? handlers.abandon(job, at) : handlers.jobs[job.kind](job, at)
    ).pipe(
      retryOnConflict,
      Effect.as(true),
      Effect.catchCause((cause) => Effect.as(noteFailure(job, cause), false))
    )

  const claim = (limit: number, workspace_id?: WorkspaceId) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      storage.claim({ now, lease_ms, limit, ...(workspace_id !== undefined && { workspace_id }) })
    )

  return { claim, run, runSequentially }
})

/** A signal that wakes when jobs of a workspace (or of any) were stored or finished. */
export const wokenByJobs = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  workspace_id: WorkspaceId | undefined
) {
  const signal = Signal.make()
  yield* storage.watch((hint) => {
    if (hint.about === "everything") signal.wake()
    if (hint.about === "jobs" && (workspace_id ?? hint.workspace_id) === hint.workspace_id) signal.wake()
  })
  return signal
})

const noteFailure = (
  job: ClaimedJob,
  cause: Cause.Cause<Effect.Error<ReturnType<JobHandler>>>
): Effect.Effect<void, StorageUnavailable> => {
  const error = Option.getOrNull(Cause.findErrorOption(cause))
  // Another host has taken over the job and will finish it.
  if (error?._tag === "LeaseLost") return Effect.void
  const log =
    error === null
      ? Effect.logError("A job has failed", cause)
      : Effect.logWarning(`A job will be retried: ${error._tag}`)
  const logged = Effect.annotateLogs(log, {
    job: job.kind,
    workspace_id: job.workspace_id,
    lease: job.lease,
    expired_leases: job.expired_leases
  })
  return error?._tag === "StorageUnavailable" ? Effect.andThen(logged, Effect.fail(error)) : logged
}
