import { Array, type Effect, type Exit, HashSet } from "effect"
import * as Change from "../storage/Change.ts"
import type { ClaimedJob, NewJob } from "../storage/Job.ts"
import { roughLengthOf } from "../storage/Kind.ts"
import type { WorkspaceId } from "../wire/Ids.ts"
import * as ClockHold from "./ClockHold.ts"
import type { JobHandler } from "./JobHandler.ts"

/** A job's decision. `change` is null if the job failed, or cannot run ahead of the clock. */
export interface Decision {
  readonly change: Change.Change | null
  readonly exit: Exit.Exit<void, Effect.Error<ReturnType<JobHandler>>>
  /** The names of the records that the job has read. */
  readonly reads: ReadonlySet<string>
}

/** A job that is waiting for its turn in a batch. */
export interface JobTurn {
  readonly job: ClaimedJob
  /** The job as created by an earlier job in the batch, and not stored yet; null for a claimed job. */
  readonly created: NewJob | null
  /** The decision that the job made before the turns began; null if the job has not decided yet. */
  readonly prepared: Decision | null
}

/** The name of a record within its workspace. */
export const nameOf = ({ kind, id }: { readonly kind: string; readonly id: string }): string => `${kind} ${id}`

/** Represents a job that runs before it is stored. Its number and lease are never read. */
const asClaimed = (workspace_id: WorkspaceId, created: NewJob): ClaimedJob => ({
  ...created,
  workspace_id,
  number: 0,
  lease: 0,
  expired_leases: 0
})

/**
 * Adds the ordered jobs that a change creates to the turns. The turns stay sorted by due time; a new job comes behind
 * all jobs with the same due time. A job that is due at `until` or later is not added, because jobs in storage may come
 * before it.
 */
const withCreated = (
  turns: ReadonlyArray<JobTurn>,
  { jobs, workspace_id }: Change.Change,
  until: number
): ReadonlyArray<JobTurn> =>
  jobs
    .filter(({ due_at, ordered }) => ordered && due_at < until)
    .reduce((result, created) => {
      const behind = result.findIndex(({ job }) => job.due_at > created.due_at)
      const turn: JobTurn = { job: asClaimed(workspace_id, created), created, prepared: null }
      return result.toSpliced(behind < 0 ? result.length : behind, 0, turn)
    }, turns)

/** The turns of the jobs that are due before `until`. */
const turnsBefore = (until: number, turns: ReadonlyArray<JobTurn>): ReadonlyArray<JobTurn> =>
  turns.filter(({ job }) => job.due_at < until)

/**
 * The claimed jobs that may still run: the jobs that are due no later than `storedDueAt`, the due time of the first job
 * that the batch stores.
 */
const claimedBefore = (turns: ReadonlyArray<JobTurn>, storedDueAt: number): ReadonlyArray<JobTurn> =>
  turns.filter(({ created, job }) => created === null && job.due_at <= storedDueAt)

/** A job in a batch, and its change. */
export interface Entry extends Omit<JobTurn, "prepared"> {
  readonly change: Change.Change
}

/** The jobs that a batch creates but does not run. */
const createdBy = (batch: ReadonlyArray<Entry>): ReadonlyArray<NewJob> => {
  const createdJobs = new Set(batch.map(({ created }) => created))
  return batch.flatMap(({ change }) => change.jobs).filter((job) => !createdJobs.has(job))
}

/** The due time of the first ordered job that a batch creates but does not run. */
const nextCreated = (batch: ReadonlyArray<Entry>): number =>
  createdBy(batch).reduce(
    (earliest, { due_at, ordered }) => (ordered ? Math.min(earliest, due_at) : earliest),
    Number.POSITIVE_INFINITY
  )

/**
 * The change that commits a batch. Storage rejects the change if, in the meantime, another change has stored a job that
 * is due before the batch's last job.
 */
export interface BatchChange extends Change.Change {
  /** When the batch's last job is due, in milliseconds of workspace time. */
  readonly none_due_before: number
}

/** Merges the changes of a batch into one. */
export const mergeChanges = (workspace_id: WorkspaceId, batch: Array.NonEmptyReadonlyArray<Entry>): BatchChange => {
  const changes = batch.map(({ change }) => change)
  const all = Change.make(workspace_id, {
    writes: changes.flatMap(({ writes }) => writes),
    expects: changes.flatMap(({ expects }) => expects),
    events: changes.flatMap(({ events }) => events),
    jobs: createdBy(batch),
    finishes: batch.flatMap(({ created, job }) => (created === null ? [job] : []))
  })
  return { ...all, none_due_before: Array.lastNonEmpty(batch).job.due_at }
}

/** The maximum number of jobs that one change runs: claimed jobs, and the jobs that they create. */
const maxBatch = 200
/** The approximate maximum size of one change in bytes, unless a single job stores more. */
const maxBatchBytes = 4_000_000

/** The approximate size of a change. It serializes no bodies, because in-memory storage may never need them. */
const roughBytesOf = (change: Change.Change): number =>
  change.writes.reduce((sum, record) => sum + roughLengthOf(record), Change.bytesOf({ ...change, writes: [] }))

/** The state of a run of jobs in batches, between two turns. */
export interface BatchRun {
  /** The turns that are left, in order. */
  readonly turns: ReadonlyArray<JobTurn>
  /** The end of the run, in milliseconds of workspace time. Only jobs that are due before it are run. */
  readonly until: number
  /** The jobs that have had their turns since the last commit. */
  readonly batch: ReadonlyArray<Entry>
  readonly batch_bytes: number
  /** The names of the records that the batch writes. */
  readonly in_batch: HashSet.HashSet<string>
  /** The names of the records that the whole run has written. */
  readonly written: HashSet.HashSet<string>
  /** The ID of the last event. Lists sort by ID, so event IDs must be in the events' order. */
  readonly last_event_id: string
}

/** The state of a run before its first turn. */
export const begin = (turns: ReadonlyArray<JobTurn>, until: number): BatchRun => ({
  turns,
  until,
  batch: [],
  batch_bytes: 0,
  in_batch: HashSet.empty(),
  written: HashSet.empty(),
  last_event_id: ""
})

/**
 * The decision that a turn's job made in advance; null if the job made no decision, or if an earlier job has made the
 * decision outdated.
 */
export const preparedFor = ({ last_event_id, written }: BatchRun, { prepared }: JobTurn): Decision | null => {
  if (prepared === null) return null
  const { change, reads } = prepared
  for (const name of reads) if (HashSet.has(written, name)) return null
  return change?.events.some(({ id }) => id < last_event_id) ? null : prepared
}

/**
 * Takes the next turn, given the change that its job has decided on.
 *
 * Returns `flush` if the batch must be committed first: the batch is full, the change would write a record twice, or
 * the run stops at this job. Returns `stop` if the run stops here.
 */
export const step = (
  run: BatchRun,
  { created, job }: JobTurn,
  change: Change.Change | null
): BatchRun | "flush" | "stop" => {
  if (change === null) return run.batch.length > 0 ? "flush" : "stop"
  const names = change.writes.map(nameOf)
  const batch_bytes = run.batch_bytes + roughBytesOf(change)
  const isFull = run.batch.length === maxBatch || batch_bytes > maxBatchBytes
  const writesAgain = names.some((name) => HashSet.has(run.in_batch, name))
  if (run.batch.length > 0 && (isFull || writesAgain)) return "flush"
  const until = Math.min(run.until, ClockHold.reach(change.jobs.filter(ClockHold.holds), job.due_at) + 1)
  return {
    turns: withCreated(turnsBefore(until, run.turns.slice(1)), change, until),
    until,
    batch: [...run.batch, { job, created, change }],
    batch_bytes,
    in_batch: withAll(run.in_batch, names),
    written: withAll(run.written, names),
    last_event_id: change.events.at(-1)?.id ?? run.last_event_id
  }
}

const withAll = (set: HashSet.HashSet<string>, names: ReadonlyArray<string>): HashSet.HashSet<string> =>
  names.reduce((updated, name) => HashSet.add(updated, name), set)

/** The state of a run after its batch was committed. */
export const committed = (run: BatchRun): BatchRun => ({
  ...run,
  turns: claimedBefore(run.turns, nextCreated(run.batch)),
  batch: [],
  batch_bytes: 0,
  in_batch: HashSet.empty()
})
