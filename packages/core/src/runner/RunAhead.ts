import { Array, Clock, Effect, Exit, Option } from "effect"
import { timeOf, type Workspace } from "../access/Workspaces.ts"
import type { Change, StoredRecord } from "../storage/Change.ts"
import type { ClaimedJob } from "../storage/Job.ts"
import { type Stage, Staging } from "../storage/Staging.ts"
import { type LeaseLost, Storage, type StorageUnavailable, type VersionConflict } from "../storage/Storage.ts"
import * as JobBatch from "./JobBatch.ts"
import type { JobHandler } from "./JobHandler.ts"
import * as WorkLoop from "./WorkLoop.ts"

/** The maximum number of jobs in one claim. */
const maxClaimed = 100

/**
 * Commits a batch of jobs. The same change moves the clock to the due time of the batch's last job (`none_due_before`).
 */
export type CommitBatch = (
  batch: JobBatch.BatchChange
) => Effect.Effect<void, VersionConflict | LeaseLost | StorageUnavailable>

/** The result of a run ahead of the clock. */
export interface RanAhead {
  /** How many jobs ran, whether they succeeded or failed. */
  readonly jobs: number
  /** Whether no ordered job comes due before `reach`, not even one that another runner holds. */
  readonly isClear: boolean
  /** The latest time to which the clock may be moved, in milliseconds of workspace time. */
  readonly reach: number
}

/** Records by name, as the earlier jobs in the run left them. */
type RunRecords = Map<string, Option.Option<StoredRecord>>

/**
 * Makes a function that runs the ordered jobs that come due while a workspace's clock advances. The result is the same
 * as if each job had run when it was due, but many jobs share one change.
 *
 * First, all claimed jobs decide concurrently, so that storage can serve their reads together. Then the jobs take their
 * turns in order. In its turn, a job decides again if an earlier job has written a record that it read. A job that
 * another job creates takes its turn in the same batch.
 *
 * A batch ends when it is full, or before it would write a record twice. The run stops at the first job that fails or
 * is not about quoting, and after a batch that storage rejects; the caller must then run the next job when it is due.
 * The run never goes past a call that holds the clock (`ClockHold`), even if a job in the run creates that call.
 */
export const make = Effect.gen(function* () {
  const storage = yield* Storage
  const { handleAhead: handle, release } = yield* WorkLoop.makeClaimer

  return (
    workspace: Workspace,
    ahead_ms: number,
    readReach: Effect.Effect<number, StorageUnavailable>,
    commitBatch: CommitBatch
  ): Effect.Effect<RanAhead, StorageUnavailable> =>
    // Uninterruptible from the claim until the run begins, so that every claimed job is either run or released.
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const { id: workspace_id } = workspace
        const now = yield* Clock.currentTimeMillis
        const query = { now, lease_ms: WorkLoop.leaseMs, limit: maxClaimed, workspace_id, ahead_ms }
        const { busy, jobs } = yield* storage.claim(query)
        const remaining = new Set(jobs)
        const done = (job: ClaimedJob) => remaining.delete(job)
        const commit = (batch: Batch) =>
          Effect.map(commitBatch(JobBatch.mergeChanges(workspace_id, batch)), () => {
            for (const { job } of batch) done(job)
          })
        // A failed job keeps its lease, exactly as if it had failed when due. The expired lease is then counted as an
        // attempt.
        const fail = (job: ClaimedJob, cause: WorkLoop.JobCause) =>
          Effect.map(WorkLoop.noteFailure(job, cause), () => done(job))
        const last = jobs.length === maxClaimed ? jobs.at(-1) : undefined
        const until = last?.due_at ?? timeOf(workspace, now) + ahead_ms + 1
        const run = Effect.gen(function* () {
          // Read the reach after the claim: while this host leases the workspace's jobs, no other host begins a
          // collection in that workspace.
          const reach = yield* readReach
          const inReach = jobs.filter(({ due_at }) => due_at <= reach)
          yield* runBatches(inReach, Math.min(until, reach + 1), { handle, commit, fail })
          const isClear = inReach.length === 0 && (jobs.length > 0 || !busy)
          const result: RanAhead = { jobs: jobs.length - remaining.size, isClear, reach }
          return result
        })
        return yield* Effect.ensuring(
          restore(run),
          Effect.suspend(() => (remaining.size === 0 ? Effect.void : release([...remaining])))
        )
      })
    )
})

/** Lets a job decide without storing the decision. A job that is not about quoting decides nothing. */
const decide = (handle: JobHandler, job: ClaimedJob, records: RunRecords): Effect.Effect<JobBatch.Decision> =>
  Effect.suspend(() => {
    let change: Change | null = null
    const reads = new Set<string>()
    const stage: Stage = {
      get: (key, read) => {
        if (key.workspace_id !== job.workspace_id) return read
        const name = JobBatch.nameOf(key)
        reads.add(name)
        const cached = records.get(name)
        return cached === undefined
          ? Effect.tap(read, (record) => Effect.sync(() => records.set(name, record)))
          : Effect.succeed(cached)
      },
      commit: (finishing) =>
        Effect.sync(() => {
          change = finishing
        })
    }
    return Effect.map(Effect.exit(Effect.provideService(handle(job, job.due_at), Staging, stage)), (exit) => ({
      change: Exit.isSuccess(exit) ? change : null,
      exit,
      reads
    }))
  })

/** Lets all claimed jobs decide concurrently, each as if it were the first. */
const prepare = (handle: JobHandler, jobs: ReadonlyArray<ClaimedJob>, records: RunRecords) =>
  Effect.forEach(
    jobs,
    (job) =>
      Effect.map(decide(handle, job, records), (prepared): JobBatch.JobTurn => ({ job, created: null, prepared })),
    { concurrency: "unbounded" }
  )

type Batch = Array.NonEmptyReadonlyArray<JobBatch.Entry>

/** The functions that a run of batches calls. */
interface Steps {
  readonly handle: JobHandler
  readonly commit: (batch: Batch) => Effect.Effect<void, VersionConflict | LeaseLost | StorageUnavailable>
  readonly fail: (job: ClaimedJob, cause: WorkLoop.JobCause) => Effect.Effect<unknown, StorageUnavailable>
}

/**
 * Runs claimed jobs, and the jobs that they create before `end`, in batches. Stops when a job fails or a batch is
 * rejected.
 */
const runBatches = Effect.fnUntraced(
  function* (jobs: ReadonlyArray<ClaimedJob>, end: number, { commit, fail, handle }: Steps) {
    const records: RunRecords = new Map()
    let run = JobBatch.begin(yield* prepare(handle, jobs, records), end)
    const flush = Effect.gen(function* () {
      if (Array.isReadonlyArrayNonEmpty(run.batch)) yield* commit(run.batch)
      run = JobBatch.committed(run)
    })
    for (let turn = run.turns[0]; turn !== undefined; turn = run.turns[0]) {
      const { change, exit } = JobBatch.preparedFor(run, turn) ?? (yield* decide(handle, turn.job, records))
      const next = JobBatch.step(run, turn, change)
      if (next === "flush") yield* flush
      else if (next === "stop") return yield* Exit.isFailure(exit) ? fail(turn.job, exit.cause) : Effect.void
      else {
        for (const write of change?.writes ?? []) records.set(JobBatch.nameOf(write), Option.some(write))
        run = next
        if (run.turns.length === 0) yield* flush
      }
    }
  },
  Effect.catchTags({ VersionConflict: () => Effect.void, LeaseLost: () => Effect.void })
)
