import { Array, Clock, Effect, Exit, Option } from "effect"
import { timeOf, type Workspace } from "../access/Workspaces.ts"
import { bytesOf, type Change, type StoredRecord } from "../storage/Change.ts"
import type { ClaimedJob } from "../storage/Job.ts"
import { type Stage, Staging } from "../storage/Staging.ts"
import { type LeaseLost, Storage, type StorageUnavailable, type VersionConflict } from "../storage/Storage.ts"
import * as ClockHold from "./ClockHold.ts"
import * as JobBatch from "./JobBatch.ts"
import type { JobHandler } from "./JobHandler.ts"
import * as WorkLoop from "./WorkLoop.ts"

/** How many jobs are claimed at once. */
const maxClaimed = 100
/** How many jobs one change runs at most: those claimed, and those that they create in between. */
const maxBatch = 200
/** The approximate limit of the bytes that one change stores, unless a single job stores more. */
const maxBatchBytes = 4_000_000

/**
 * Commits a batch of jobs, and in the same change moves the clock to the due time of the last one (`none_due_before`).
 */
export type CommitBatch = (
  batch: JobBatch.BatchChange
) => Effect.Effect<void, VersionConflict | LeaseLost | StorageUnavailable>

/** The result of one run ahead of the clock. */
export interface RanAhead {
  /** How many jobs ran or failed. */
  readonly jobs: number
  /** Whether no ordered job comes due before `reach`, not even one that another runner holds. */
  readonly isClear: boolean
  /** The latest moment to which the clock may be moved, in milliseconds of workspace time. */
  readonly reach: number
}

/** Records by name, as the earlier jobs of the run have left them. */
type Known = Map<string, Option.Option<StoredRecord>>

/**
 * Runs the ordered jobs that come due while the clock of a workspace advances. The result is the same as if each had
 * run when it was due, but many of them share one change.
 *
 * First all claimed jobs decide concurrently, so that storage can read for all of them at once. Then they take their
 * turns in order. A job decides again in its turn if an earlier one has written a record that it had read. A job that
 * another one creates takes its turn in the same batch.
 *
 * A batch ends when it is full, or before it would write a record for the second time. The run stops at the first job
 * that is not about quoting or fails, and after a batch that storage refuses: the caller must then run that job when it
 * is due. The run never passes a call that holds the clock (`ClockHold`), not even one that a job of the run creates.
 */
export const make = Effect.gen(function* () {
  const storage = yield* Storage
  const { handleAhead: handle, release } = yield* WorkLoop.claiming

  return (
    workspace: Workspace,
    ahead_ms: number,
    readReach: Effect.Effect<number, StorageUnavailable>,
    commitBatch: CommitBatch
  ): Effect.Effect<RanAhead, StorageUnavailable> =>
    // Not interruptible between a claim and the run, so that every claimed job is run or released.
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const { id: workspace_id } = workspace
        const now = yield* Clock.currentTimeMillis
        const query = { now, lease_ms: WorkLoop.leaseMs, limit: maxClaimed, workspace_id, ahead_ms }
        const { busy, jobs } = yield* storage.claim(query)
        const left = new Set(jobs)
        const done = (job: ClaimedJob) => left.delete(job)
        const commit = (batch: Batch) =>
          Effect.map(commitBatch(JobBatch.together(workspace_id, batch)), () => {
            for (const { job } of batch) done(job)
          })
        // It keeps its lease, like a job that fails when it is due. The expired lease counts as a try.
        const fail = (job: ClaimedJob, cause: WorkLoop.JobCause) =>
          Effect.map(WorkLoop.noteFailure(job, cause), () => done(job))
        const last = jobs.length === maxClaimed ? jobs.at(-1) : undefined
        const until = last?.due_at ?? timeOf(workspace, now) + ahead_ms + 1
        const run = Effect.gen(function* () {
          // Read after the claim: while its jobs are leased, no other host begins a collection.
          const reach = yield* readReach
          const inReach = jobs.filter(({ due_at }) => due_at <= reach)
          yield* runBatches(inReach, Math.min(until, reach + 1), { handle, commit, fail })
          const isClear = inReach.length === 0 && (jobs.length > 0 || !busy)
          const ran: RanAhead = { jobs: jobs.length - left.size, isClear, reach }
          return ran
        })
        return yield* Effect.ensuring(
          restore(run),
          Effect.suspend(() => (left.size === 0 ? Effect.void : release([...left])))
        )
      })
    )
})

/** Lets a job decide, without storing what it decides. A job that is not about quoting decides nothing. */
const decide = (handle: JobHandler, job: ClaimedJob, known: Known): Effect.Effect<JobBatch.Decision> =>
  Effect.suspend(() => {
    let change: Change | null = null
    const reads = new Set<string>()
    const stage: Stage = {
      get: (key, read) => {
        if (key.workspace_id !== job.workspace_id) return read
        const name = JobBatch.nameOf(key)
        reads.add(name)
        const found = known.get(name)
        return found === undefined
          ? Effect.tap(read, (record) => Effect.sync(() => known.set(name, record)))
          : Effect.succeed(found)
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

/** Lets all claimed jobs decide concurrently, as if each were the first. */
const prepare = (handle: JobHandler, jobs: ReadonlyArray<ClaimedJob>, known: Known) =>
  Effect.forEach(
    jobs,
    (job) => Effect.map(decide(handle, job, known), (prepared): JobBatch.Turn => ({ job, created: null, prepared })),
    { concurrency: "unbounded" }
  )

type Batch = Array.NonEmptyReadonlyArray<JobBatch.Entry>

/** What a run of batches needs. */
interface Steps {
  readonly handle: JobHandler
  readonly commit: (batch: Batch) => Effect.Effect<void, VersionConflict | LeaseLost | StorageUnavailable>
  readonly fail: (job: ClaimedJob, cause: WorkLoop.JobCause) => Effect.Effect<unknown, StorageUnavailable>
}

/** Runs claimed jobs, and those that they create before `end`, in batches, until one fails or is refused. */
const runBatches = Effect.fnUntraced(
  function* (jobs: ReadonlyArray<ClaimedJob>, end: number, { commit, fail, handle }: Steps) {
    let until = end
    const known: Known = new Map()
    const written = new Set<string>()
    let turns: ReadonlyArray<JobBatch.Turn> = yield* prepare(handle, jobs, known)
    let batch: Array<JobBatch.Entry> = []
    let batchBytes = 0
    let inBatch = new Set<string>()
    // Lists sort by id, so ids of events have to follow their order.
    let lastEventId = ""

    const flush = Effect.gen(function* () {
      if (Array.isArrayNonEmpty(batch)) yield* commit(batch)
      turns = JobBatch.claimedBefore(turns, JobBatch.nextCreated(batch))
      batch = []
      batchBytes = 0
      inBatch = new Set()
    })
    while (turns[0] !== undefined) {
      const [{ created, job, prepared }] = turns
      const isOutdated =
        prepared === null ||
        [...prepared.reads].some((name) => written.has(name)) ||
        prepared.change?.events.some(({ id }) => id < lastEventId)
      const { change, exit } = isOutdated ? yield* decide(handle, job, known) : prepared
      const writesAgain = change?.writes.some((write) => inBatch.has(JobBatch.nameOf(write)))
      const bytes = change === null ? 0 : bytesOf(change)
      const isFull = batch.length === maxBatch || batchBytes + bytes > maxBatchBytes
      if (batch.length > 0 && (change === null || writesAgain || isFull)) yield* flush
      else if (change === null) return yield* Exit.isFailure(exit) ? fail(job, exit.cause) : Effect.void
      else {
        batch.push({ job, created, change })
        batchBytes += bytes
        lastEventId = change.events.at(-1)?.id ?? lastEventId
        for (const write of change.writes) {
          const name = JobBatch.nameOf(write)
          known.set(name, Option.some(write))
          written.add(name)
          inBatch.add(name)
        }
        until = Math.min(until, ClockHold.reach(change.jobs.filter(ClockHold.holds), job.due_at) + 1)
        turns = JobBatch.withCreated(JobBatch.before(until, turns.slice(1)), change, until)
        if (turns.length === 0) yield* flush
      }
    }
  },
  Effect.catchTags({ VersionConflict: () => Effect.void, LeaseLost: () => Effect.void })
)
