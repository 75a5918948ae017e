import type { Ids, Job } from "@quotewire/core"
import { type Compare, SortedList } from "./SortedList.ts"

/** A time that never comes. */
export const never = Number.POSITIVE_INFINITY

/** A job that is not finished. */
export interface StoredJob {
  readonly lane: Lane
  readonly number: number
  readonly kind: Job.JobKind
  /** In workspace time, so that moving the workspace's clock changes no job. */
  readonly due_at: number
  readonly payload: string
  /** How many times it has been claimed. */
  lease: number
  expired_leases: number
  /** In real time. Changes only while the job is not leased. */
  lease_ends_at: number
}

/** When a job is due, and its place among jobs that are due at the same time. */
export type DueTime = Pick<StoredJob, "due_at" | "number">

/** The order in which the jobs of a lane are claimed. */
export const byDueTime: Compare<DueTime> = (first, second) =>
  first.due_at - second.due_at || first.number - second.number

/** Jobs of one workspace that are claimed by the same rule: its ordered jobs, those of a named lane, or all others. */
export class Lane {
  readonly workspace: WorkspaceJobs
  readonly queue: Job.JobQueue
  readonly waiting = new SortedList<DueTime, StoredJob>(byDueTime)
  readonly leased = new Set<StoredJob>()
  /** When its next job can be claimed, in real time. Like `number`, it changes only while the lane is not in a list. */
  ready_at = never
  /** The number of the lane's next job. */
  number = 0

  constructor(workspace: WorkspaceJobs, { lane, ordered }: Job.JobQueue) {
    this.workspace = workspace
    this.queue = { ordered, ...(lane !== undefined && { lane }) }
  }

  /** When the first waiting job is due, in real time. */
  get due_at(): number {
    return (this.waiting.first?.due_at ?? never) - this.workspace.clock_offset_ms
  }

  /** Whether no more jobs can be claimed until some of the leased ones are done. */
  get isFull(): boolean {
    const { lane, ordered } = this.queue
    return ordered ? this.leased.size > 0 : lane !== undefined && this.leased.size >= lane.limit
  }

  get isEmpty(): boolean {
    return this.waiting.first === undefined && this.leased.size === 0
  }

  /** The first waiting jobs, and all leased ones. */
  first(limit: number): ReadonlyArray<StoredJob> {
    return [...take(this.waiting.upwards(), limit), ...this.leased]
  }

  /** Moves the first waiting jobs that are due by a real time to the leased ones: at most so many. */
  lease(most: number, dueBy: number): ReadonlyArray<StoredJob> {
    const jobs: Array<StoredJob> = []
    for (let job = this.waiting.first; job !== undefined && this.due_at <= dueBy; job = this.waiting.first) {
      if (jobs.length >= most) break
      this.waiting.remove(job)
      this.leased.add(job)
      jobs.push(job)
    }
    return jobs
  }
}

const orderedKey = "ordered"

const keyOf = ({ lane, ordered }: Job.JobQueue): string =>
  ordered ? orderedKey : lane === undefined ? "others" : `lane ${lane.name}`

/** The jobs of one workspace, and its clock. */
export class WorkspaceJobs {
  readonly id: Ids.WorkspaceId
  /** Workspace time minus real time. */
  clock_offset_ms = 0
  /** Lanes by key. No lane is empty. */
  private readonly byKey = new Map<string, Lane>()

  constructor(id: Ids.WorkspaceId) {
    this.id = id
  }

  /** The lanes that have jobs. */
  get lanes(): ReadonlyArray<Lane> {
    return [...this.byKey.values()]
  }

  /** All jobs, waiting and leased. */
  get jobs(): ReadonlyArray<StoredJob> {
    return this.lanes.flatMap((lane) => lane.first(never))
  }

  get isEmpty(): boolean {
    return this.byKey.size === 0
  }

  /** The lane of the ordered jobs. */
  get ordered(): Lane | undefined {
    return this.byKey.get(orderedKey)
  }

  /** The lane that a job is added to. */
  lane(queue: Job.JobQueue): Lane {
    const key = keyOf(queue)
    const lane = this.byKey.get(key) ?? new Lane(this, queue)
    this.byKey.set(key, lane)
    return lane
  }

  /** Forgets a lane that has become empty. */
  drop({ queue }: Lane): void {
    this.byKey.delete(keyOf(queue))
  }
}

/** The first items, at most so many. */
export const take = <A>(items: Iterable<A>, limit: number): ReadonlyArray<A> => {
  const taken: Array<A> = []
  for (const item of items) {
    if (taken.length >= limit) break
    taken.push(item)
  }
  return taken
}
