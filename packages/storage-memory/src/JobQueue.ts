import type { Ids, Job, Storage } from "@quotewire/core"
import { type Compare, compareText, SortedList } from "./SortedList.ts"

/** A time that never comes. */
const never = Number.POSITIVE_INFINITY

/** A job that is not finished. */
interface StoredJob {
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
type DueTime = Pick<StoredJob, "due_at" | "number">

/** The order in which the jobs of a lane are claimed. */
const byDueTime: Compare<DueTime> = (first, second) => first.due_at - second.due_at || first.number - second.number

/** Jobs of one workspace that are claimed by the same rule: its ordered jobs, those of a named lane, or all others. */
class Lane {
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
class WorkspaceJobs {
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
const take = <A>(items: Iterable<A>, limit: number): ReadonlyArray<A> => {
  const taken: Array<A> = []
  for (const item of items) {
    if (taken.length >= limit) break
    taken.push(item)
  }
  return taken
}

type LeaseEnd = Pick<StoredJob, "lease_ends_at" | "number">
const byLeaseEnd: Compare<LeaseEnd> = (first, second) =>
  first.lease_ends_at - second.lease_ends_at || first.number - second.number

type ReadyTime = Pick<Lane, "ready_at" | "number">
const byReadyTime: Compare<ReadyTime> = (first, second) =>
  first.ready_at - second.ready_at || first.number - second.number

/**
 * Due jobs of all workspaces.
 *
 * Jobs wait in the lanes of their workspace, ordered by workspace time; lanes wait by real time. So a claim only looks
 * at lanes with due jobs, and moving a workspace's clock moves its lanes instead of its jobs.
 */
export class JobQueue {
  private readonly workspaces = new Map<Ids.WorkspaceId, WorkspaceJobs>()
  /** Urgent lanes with waiting jobs that are not full. They are claimed first. */
  private readonly urgent = new SortedList<ReadyTime, Lane>(byReadyTime)
  /** The other lanes. In one list, an urgent lane that is not due yet would hide lanes that are. */
  private readonly ready = new SortedList<ReadyTime, Lane>(byReadyTime)
  private readonly leased = new SortedList<LeaseEnd, StoredJob>(byLeaseEnd)
  /** Jobs that were claimed and not released, by number. They can still be finished after their lease has ended. */
  private readonly held = new Map<number, StoredJob>()
  private last_number = 0

  add(workspaceId: Ids.WorkspaceId, jobs: ReadonlyArray<Job.NewJob>): void {
    const workspace = this.workspaceToChange(workspaceId)
    for (const job of jobs) {
      const lane = workspace.lane(job)
      const { due_at, kind, payload } = job
      const number = ++this.last_number
      lane.waiting.insert({ lane, number, kind, due_at, payload, lease: 0, expired_leases: 0, lease_ends_at: 0 })
      this.refresh(lane)
    }
  }

  /** Whether the lease is the job's latest claim, neither finished nor released. */
  holds(lease: Job.Lease): boolean {
    return this.find(lease) !== undefined
  }

  /** Removes a finished job. Ignores a lost lease. */
  finish(lease: Job.Lease): void {
    const job = this.find(lease)
    if (job !== undefined) this.remove(job)
  }

  /** Makes jobs claimable again. Ignores lost leases. */
  release(leases: ReadonlyArray<Job.Lease>): void {
    for (const lease of leases) {
      const job = this.find(lease)
      if (job === undefined) continue
      this.held.delete(job.number)
      if (job.lane.leased.has(job)) this.endLease(job)
    }
  }

  moveClock(workspaceId: Ids.WorkspaceId, clockOffsetMs: number): void {
    const workspace = this.workspaceToChange(workspaceId)
    workspace.clock_offset_ms = clockOffsetMs
    for (const lane of workspace.lanes) this.refresh(lane)
  }

  /** Whether an ordered job of a workspace is due before a workspace time, except those that are finished. */
  hasOrderedBefore(workspaceId: Ids.WorkspaceId, dueBefore: number, finished: ReadonlyArray<Job.Lease>): boolean {
    const lane = this.workspace(workspaceId).ordered
    if (lane === undefined) return false
    const numbers = new Set(finished.map(({ number }) => number))
    const isOpen = ({ due_at, number }: DueTime) => due_at < dueBefore && !numbers.has(number)
    // Usually the first job is unfinished, so the loop ends there.
    for (const job of lane.waiting.downwards({ due_at: dueBefore, number: 0 })) if (isOpen(job)) return true
    return [...lane.leased].some(isOpen)
  }

  /** Leases due jobs: from the lanes of all workspaces, one after another, or only the ordered jobs of one workspace. */
  claim(query: Storage.ClaimQuery): Storage.JobClaim {
    const { ahead_ms = 0, lease_ms, limit, now, workspace_id } = query
    for (let job = this.leased.first; job !== undefined && job.lease_ends_at <= now; job = this.leased.first) {
      this.endLease(job)
    }
    const ordered = workspace_id === undefined ? undefined : this.workspace(workspace_id).ordered
    const nextLanes = () => (workspace_id === undefined ? [this.urgent.first, this.ready.first] : [ordered])
    const leasedBefore = workspace_id === undefined ? [this.leased.first] : [...(ordered?.leased ?? [])]
    /** When jobs that this claim does not return may be claimed. */
    const later = leasedBefore.map((job) => job?.lease_ends_at ?? never)
    const jobs: Array<Job.ClaimedJob> = []
    while (jobs.length < limit) {
      const lane = nextLanes().find((one) => one !== undefined && one.ready_at <= now + ahead_ms)
      if (lane === undefined) break
      jobs.push(...this.claimFrom(lane, { ...query, limit: limit - jobs.length }))
      if (lane.isFull) later.push(Math.max(lane.due_at, now + lease_ms))
    }
    later.push(...nextLanes().map((lane) => lane?.ready_at ?? never))
    return { jobs, next_due_at: earliest(later), busy: ordered?.isFull ?? false }
  }

  /** Erases the jobs of a workspace, waiting and leased, and returns how many. Keeps the clock. */
  erase(workspaceId: Ids.WorkspaceId): number {
    const { jobs } = this.workspace(workspaceId)
    for (const job of jobs) this.remove(job)
    return jobs.length
  }

  hasJobs(workspaceId: Ids.WorkspaceId): boolean {
    return !this.workspace(workspaceId).isEmpty
  }

  /**
   * The first jobs, waiting and leased, by due time: those of a named lane, or of all named lanes together with the
   * ordered jobs.
   */
  list({ lane: name, limit, workspace_id }: Storage.LaneQuery): ReadonlyArray<Storage.LaneJob> {
    const { lanes } = this.workspace(workspace_id)
    return lanes
      .filter(({ queue: { lane, ordered } }) =>
        name === undefined ? ordered || lane !== undefined : lane?.name === name
      )
      .flatMap((lane) => lane.first(limit))
      .toSorted(byDueTime)
      .slice(0, limit)
      .map(({ due_at, kind, lease, payload }) => ({ due_at, kind, lease, payload }))
  }

  /** The jobs that are due and could be claimed, by kind. */
  backlog({ limit, now }: Storage.BacklogQuery): ReadonlyArray<Storage.Backlog> {
    const byKind = new Map<Job.JobKind, Storage.Backlog>()
    for (const { kind, due_at } of take(this.dueJobs(now), limit)) {
      const { due = 0, oldest_due_at = due_at } = byKind.get(kind) ?? {}
      byKind.set(kind, { kind, due: due + 1, oldest_due_at: Math.min(oldest_due_at, due_at) })
    }
    return [...byKind.values()].sort((one, other) => compareText(one.kind, other.kind))
  }

  /** The jobs of lanes that are not full, due at or before this real time. */
  private *dueJobs(now: number): Generator<Pick<StoredJob, "kind" | "due_at">> {
    for (const lanes of [this.urgent, this.ready]) {
      for (const { ready_at, waiting, workspace } of lanes.upwards()) {
        if (ready_at > now) break
        for (const { due_at, kind } of waiting.upwards()) {
          const at = due_at - workspace.clock_offset_ms
          if (at > now) break
          yield { kind, due_at: at }
        }
      }
    }
  }

  /**
   * An ordered lane yields all jobs with the earliest due time, or all that are due within `ahead_ms`; any other lane
   * yields one.
   */
  private claimFrom(lane: Lane, { now, lease_ms, limit, ahead_ms }: Storage.ClaimQuery): ReadonlyArray<Job.ClaimedJob> {
    const dueBy = ahead_ms === undefined ? Math.min(lane.due_at, now) : now + ahead_ms
    const jobs = lane.lease(lane.queue.ordered ? limit : 1, dueBy)
    for (const job of jobs) {
      if (this.held.has(job.number)) job.expired_leases += 1
      job.lease += 1
      job.lease_ends_at = now + lease_ms
      this.leased.insert(job)
      this.held.set(job.number, job)
    }
    this.refresh(lane)
    return jobs.map(claimed)
  }

  /** Returns a leased job to the waiting ones. Its due time does not change. */
  private endLease(job: StoredJob): void {
    const { lane } = job
    lane.leased.delete(job)
    this.leased.remove(job)
    lane.waiting.insert(job)
    this.refresh(lane)
  }

  /** Removes a job, waiting or leased. */
  private remove(job: StoredJob): void {
    const { lane } = job
    this.held.delete(job.number)
    if (lane.leased.delete(job)) this.leased.remove(job)
    else lane.waiting.remove(job)
    this.refresh(lane)
    if (lane.isEmpty) lane.workspace.drop(lane)
  }

  private find({ lease, number, workspace_id }: Job.Lease): StoredJob | undefined {
    const job = this.held.get(number)
    return job?.lease === lease && job.lane.workspace.id === workspace_id ? job : undefined
  }

  /** The jobs of a workspace, for reading: an empty set of lanes if nothing is stored for it. */
  private workspace(id: Ids.WorkspaceId): WorkspaceJobs {
    return this.workspaces.get(id) ?? new WorkspaceJobs(id)
  }

  private workspaceToChange(id: Ids.WorkspaceId): WorkspaceJobs {
    const workspace = this.workspace(id)
    this.workspaces.set(id, workspace)
    return workspace
  }

  /** Moves a lane to its place after its jobs or its workspace's clock have changed. */
  private refresh(lane: Lane): void {
    const lanes = lane.queue.lane?.urgent === true ? this.urgent : this.ready
    const readyAt = lane.isFull ? never : lane.due_at
    const number = lane.waiting.first?.number ?? 0
    if (readyAt === lane.ready_at && number === lane.number) return
    lanes.remove(lane)
    lane.ready_at = readyAt
    lane.number = number
    if (readyAt !== never) lanes.insert(lane)
  }

  // The rest serves only tests.

  /** Whether no job is leased, and none is due at this real time. */
  isIdle(now: number): boolean {
    return this.leased.first === undefined && take(this.dueJobs(now), 1).length === 0
  }

  /** When the next waiting job of a workspace is due, in real time; null if none is waiting. */
  nextDueAt(workspaceId: Ids.WorkspaceId): number | null {
    return earliest(this.workspace(workspaceId).lanes.map(({ due_at }) => due_at))
  }

  /** A queue with the same jobs in the same order, none of them leased, and the same clocks. */
  copy(): JobQueue {
    const copy = new JobQueue()
    for (const { id, clock_offset_ms, jobs } of this.workspaces.values()) {
      copy.moveClock(id, clock_offset_ms)
      for (const { due_at, kind, lane, payload } of jobs.toSorted((first, second) => first.number - second.number)) {
        copy.add(id, [{ due_at, kind, payload, ...lane.queue }])
      }
    }
    return copy
  }
}

const earliest = (moments: ReadonlyArray<number>): number | null => {
  const first = moments.reduce((one, other) => Math.min(one, other), never)
  return first === never ? null : first
}

const claimed = ({ due_at, expired_leases, kind, lane, lease, number, payload }: StoredJob): Job.ClaimedJob => ({
  workspace_id: lane.workspace.id,
  number,
  lease,
  expired_leases,
  kind,
  due_at,
  payload,
  ...lane.queue
})
