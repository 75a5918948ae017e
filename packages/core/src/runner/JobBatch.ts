import { Array, type Effect, type Exit } from "effect"
import * as Change from "../storage/Change.ts"
import type { ClaimedJob, NewJob } from "../storage/Job.ts"
import type { WorkspaceId } from "../wire/Ids.ts"
import type { JobHandler } from "./JobHandler.ts"

/** What a job has decided. The change is null if the job failed, or cannot run ahead of the clock. */
export interface Decision {
  readonly change: Change.Change | null
  readonly exit: Exit.Exit<void, Effect.Error<ReturnType<JobHandler>>>
  /** The names of the records that it has read. */
  readonly reads: ReadonlySet<string>
}

/** A job that waits for its turn in a batch. */
export interface Turn {
  readonly job: ClaimedJob
  /** The job that an earlier one of the batch creates, and that is not stored yet; null for a claimed job. */
  readonly created: NewJob | null
  /** Its decision before the earlier jobs had their turns; null if it has not decided yet. */
  readonly prepared: Decision | null
}

/** Names a record of a workspace. */
export const nameOf = ({ kind, id }: { readonly kind: string; readonly id: string }): string => `${kind} ${id}`

/** A job that runs before it is stored. Nothing reads its number or its lease. */
const unstored = (workspace_id: WorkspaceId, created: NewJob): ClaimedJob => ({
  ...created,
  workspace_id,
  number: 0,
  lease: 0,
  expired_leases: 0
})

/**
 * Adds the ordered jobs that a change creates to the turns, by due time, behind all that are due at the same time. A
 * job that is due at `until` or later is not added: jobs in storage may come before it.
 */
export const withCreated = (
  turns: ReadonlyArray<Turn>,
  { jobs, workspace_id }: Change.Change,
  until: number
): ReadonlyArray<Turn> =>
  jobs
    .filter(({ due_at, ordered }) => ordered && due_at < until)
    .reduce((all, created) => {
      const behind = all.findIndex(({ job }) => job.due_at > created.due_at)
      const turn: Turn = { job: unstored(workspace_id, created), created, prepared: null }
      return all.toSpliced(behind < 0 ? all.length : behind, 0, turn)
    }, turns)

/** The turns of the jobs that are due before a time. */
export const before = (until: number, turns: ReadonlyArray<Turn>): ReadonlyArray<Turn> =>
  turns.filter(({ job }) => job.due_at < until)

/**
 * The claimed jobs that may still run: those due no later than the first job that the batch has stored, at
 * `stored_due_at`.
 */
export const claimedBefore = (turns: ReadonlyArray<Turn>, storedDueAt: number): ReadonlyArray<Turn> =>
  turns.filter(({ created, job }) => created === null && job.due_at <= storedDueAt)

/** A job of a batch with its change, in order. */
export interface Entry extends Omit<Turn, "prepared"> {
  readonly change: Change.Change
}

/** The jobs that a batch creates but does not run itself. */
export const createdBy = (batch: ReadonlyArray<Entry>): ReadonlyArray<NewJob> => {
  const ran = new Set(batch.map(({ created }) => created))
  return batch.flatMap(({ change }) => change.jobs).filter((job) => !ran.has(job))
}

/** When the first ordered job is due among those that a batch creates but does not run itself. */
export const nextCreated = (batch: ReadonlyArray<Entry>): number =>
  createdBy(batch).reduce(
    (first, { due_at, ordered }) => (ordered ? Math.min(first, due_at) : first),
    Number.POSITIVE_INFINITY
  )

/**
 * The change of a batch. Storage refuses it if another change has stored a job in the meantime that is due before the
 * last one.
 */
export interface BatchChange extends Change.Change {
  /** When the last job of the batch is due, in milliseconds of workspace time. */
  readonly none_due_before: number
}

/** The changes of a batch as one. */
export const together = (workspaceId: WorkspaceId, batch: Array.NonEmptyReadonlyArray<Entry>): BatchChange => {
  const changes = batch.map(({ change }) => change)
  const all = Change.make(workspaceId, {
    writes: changes.flatMap(({ writes }) => writes),
    expects: changes.flatMap(({ expects }) => expects),
    events: changes.flatMap(({ events }) => events),
    jobs: createdBy(batch),
    finishes: batch.flatMap(({ created, job }) => (created === null ? [job] : []))
  })
  return { ...all, none_due_before: Array.lastNonEmpty(batch).job.due_at }
}
