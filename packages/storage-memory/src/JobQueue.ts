import type { Ids, Job, Storage } from "@quotewire/core"
import { type Compare, compareText, SortedList } from "./SortedList.ts"

const never = Number.POSITIVE_INFINITY

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

type DueTime = Pick<StoredJob, "due_at" | "number">
const byDueTime: Compare<DueTime> = (first, second) => first.due_at - second.due_at || first.number - second.number

type LeaseEnd = Pick<StoredJob, "lease_ends_at" | "number">
const byLeaseEnd: Compare<LeaseEnd> = (first, second) =>
  first.lease_ends_at - second.lease_ends_at || first.number - second.number

/** The jobs of one workspace, and its clock. */
interface WorkspaceJobs {
  readonly id: Ids.WorkspaceId
  /** Workspace time minus real time. */
  clock_offset_ms: number
  /** Lanes by key. No lane is empty. */
  readonly lanes: Map<string, Lane>
}

const orderedKey = "ordered"
const namedKey = (name: string): string => `lane ${name}`
const keyOf = ({ lane, ordered }: Job.JobQueue): string =>
  ordered ? orderedKey : lane === undefined ? "others" : namedKey(lane.name)

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

  /** All jobs, waiting and leased. */
  get jobs(): ReadonlyArray<StoredJob> {
    return this.first(never)
  }
}

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
  /** Lanes with waiting jobs that are not full. */
  private readonly ready = new SortedList<ReadyTime, Lane>(byReadyTime)
  /** Like `ready`, for urgent lanes, which are claimed first. */
  private readonly urgent = new SortedList<ReadyTime, Lane>(byReadyTime)
  private readonly leased = new SortedList<LeaseEnd, StoredJob>(byLeaseEnd)
  /** Jobs that were claimed and not released, by number. They can still be finished after their lease has ended. */
  private readonly held = new Map<number, StoredJob>()
  private last_number = 0

  add(workspaceId: Ids.WorkspaceId, jobs: ReadonlyArray<Job.NewJob>): void {
    for (const job of jobs) {
      const lane = this.lane(workspaceId, job)
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
    if (job === undefined) return
    const { lane } = job
    this.held.delete(job.number)
    if (lane.leased.delete(job)) this.leased.remove(job)
    else lane.waiting.remove(job)
    this.refresh(lane)
    if (lane.isEmpty) lane.workspace.lanes.delete(keyOf(lane.queue))
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
    const workspace = this.workspace(workspaceId)
    workspace.clock_offset_ms = clockOffsetMs
    for (const lane of workspace.lanes.values()) this.refresh(lane)
  }

  /** Whether an ordered job of a workspace is due before a workspace time, except those that are finished. */
  hasOrderedBefore(workspaceId: Ids.WorkspaceId, dueBefore: number, finished: ReadonlyArray<Job.Lease>): boolean {
    const lane = this.orderedLane(workspaceId)
    if (lane === undefined) return false
    const numbers = new Set(finished.map(({ number }) => number))
    const isOpen = ({ due_at, number }: DueTime) => due_at < dueBefore && !numbers.has(number)
    // Usually the first job is unfinished, so the loop ends there.
    for (const job of lane.waiting.downwards({ due_at: dueBefore, number: 0 })) if (isOpen(job)) return true
    return [...lane.leased].some(isOpen)
  }

  claim(query: Storage.ClaimQuery): Storage.JobClaim {
    for (let job = this.leased.first; job !== undefined && job.lease_ends_at <= query.now; job = this.leased.first) {
      this.endLease(job)
    }
    return query.workspace_id === undefined
      ? this.claimAny(query)
      : this.claimOrdered(query, this.orderedLane(query.workspace_id))
  }

  /** Erases the jobs of a workspace, waiting and leased, and returns how many. Keeps the clock. */
  erase(workspaceId: Ids.WorkspaceId): number {
    const lanes = this.workspaces.get(workspaceId)?.lanes ?? new Map<string, Lane>()
    const jobs = [...lanes.values()].flatMap((lane) => lane.jobs)
    for (const lane of lanes.values()) this.orderOf(lane).remove(lane)
    for (const job of jobs) {
      if (job.lane.leased.has(job)) this.leased.remove(job)
      this.held.delete(job.number)
    }
    lanes.clear()
    return jobs.length
  }

  hasJobs(workspaceId: Ids.WorkspaceId): boolean {
    return (this.workspaces.get(workspaceId)?.lanes.size ?? 0) > 0
  }

  /**
   * The first jobs, waiting and leased, by due time: those of a named lane, or of all named lanes together with the
   * ordered jobs.
   */
  list({ lane: name, limit, workspace_id }: Storage.LaneQuery): ReadonlyArray<Storage.LaneJob> {
    const lanes = this.workspaces.get(workspace_id)?.lanes ?? new Map<string, Lane>()
    return [...lanes.values()]
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

  /** Whether no job is leased, and none is due at this real time. */
  isIdle(now: number): boolean {
    return this.leased.first === undefined && this.ready_at > now
  }

  /** When the next waiting job of a workspace is due, in real time; null if none is waiting. */
  nextDueAt(workspaceId: Ids.WorkspaceId): number | null {
    const lanes = this.workspaces.get(workspaceId)?.lanes.values() ?? []
    return earliest(Array.from(lanes, ({ due_at }) => due_at))
  }

  /** A queue with the same jobs in the same order, none of them leased, and the same clocks. */
  copy(): JobQueue {
    const copy = new JobQueue()
    for (const { id, clock_offset_ms, lanes } of this.workspaces.values()) {
      copy.moveClock(id, clock_offset_ms)
      const jobs = [...lanes.values()]
        .flatMap((lane) => lane.jobs)
        .sort((first, second) => first.number - second.number)
      copy.add(
        id,
        jobs.map(({ due_at, kind, lane, payload }) => ({ due_at, kind, payload, ...lane.queue }))
      )
    }
    return copy
  }

  /** Claims from the lanes of all workspaces, one after another. */
  private claimAny(query: Storage.ClaimQuery): Storage.JobClaim {
    const { now, lease_ms, limit } = query
    const earlierLeaseEndsAt = this.leased.first?.lease_ends_at ?? never
    const jobs: Array<Job.ClaimedJob> = []
    /** When each lane that this claim has filled may have more jobs. */
    const full: Array<number> = []
    while (jobs.length < limit) {
      const lane = [this.urgent.first, this.ready.first].find((first) => first !== undefined && first.ready_at <= now)
      if (lane === undefined) break
      jobs.push(...this.claimFrom(lane, { ...query, limit: limit - jobs.length }))
      if (lane.isFull) full.push(Math.max(lane.due_at, now + lease_ms))
    }
    return { jobs, next_due_at: earliest([this.ready_at, earlierLeaseEndsAt, ...full]), busy: false }
  }

  /** Claims from the ordered jobs of one workspace. */
  private claimOrdered(query: Storage.ClaimQuery, lane: Lane | undefined): Storage.JobClaim {
    if (lane === undefined) return { jobs: [], next_due_at: null, busy: false }
    if (lane.isFull) {
      return {
        jobs: [],
        next_due_at: earliest(Array.from(lane.leased, ({ lease_ends_at }) => lease_ends_at)),
        busy: true
      }
    }
    const jobs = this.claimFrom(lane, query)
    const nextDueAt = lane.isFull ? Math.max(lane.due_at, query.now + query.lease_ms) : lane.due_at
    return { jobs, next_due_at: earliest([nextDueAt]), busy: lane.isFull }
  }

  /**
   * An ordered lane yields all jobs with the earliest due time, or all that are due within `ahead_ms`; any other lane
   * yields one.
   */
  private claimFrom(lane: Lane, { now, lease_ms, limit, ahead_ms }: Storage.ClaimQuery): ReadonlyArray<Job.ClaimedJob> {
    const dueBy = ahead_ms === undefined ? Math.min(lane.due_at, now) : now + ahead_ms
    const most = lane.queue.ordered ? limit : 1
    const jobs: Array<StoredJob> = []
    for (let job = lane.waiting.first; job !== undefined && lane.due_at <= dueBy; job = lane.waiting.first) {
      if (jobs.length === most) break
      lane.waiting.remove(job)
      if (this.held.has(job.number)) job.expired_leases += 1
      job.lease += 1
      job.lease_ends_at = now + lease_ms
      lane.leased.add(job)
      this.leased.insert(job)
      this.held.set(job.number, job)
      jobs.push(job)
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

  /** When the first job can be claimed, in real time. */
  private get ready_at(): number {
    return Math.min(this.urgent.first?.ready_at ?? never, this.ready.first?.ready_at ?? never)
  }

  private find({ lease, number, workspace_id }: Job.Lease): StoredJob | undefined {
    const job = this.held.get(number)
    return job?.lease === lease && job.lane.workspace.id === workspace_id ? job : undefined
  }

  private orderedLane(workspaceId: Ids.WorkspaceId): Lane | undefined {
    return this.workspaces.get(workspaceId)?.lanes.get(orderedKey)
  }

  private workspace(id: Ids.WorkspaceId): WorkspaceJobs {
    const workspace = this.workspaces.get(id) ?? { id, clock_offset_ms: 0, lanes: new Map<string, Lane>() }
    this.workspaces.set(id, workspace)
    return workspace
  }

  private lane(workspaceId: Ids.WorkspaceId, queue: Job.JobQueue): Lane {
    const workspace = this.workspace(workspaceId)
    const key = keyOf(queue)
    const lane = workspace.lanes.get(key) ?? new Lane(workspace, queue)
    workspace.lanes.set(key, lane)
    return lane
  }

  /** Moves a lane to its new position after its jobs have changed. */
  private refresh(lane: Lane): void {
    const first = lane.isFull ? undefined : lane.waiting.first
    const readyAt = first === undefined ? never : lane.due_at
    const number = first?.number ?? 0
    if (readyAt === lane.ready_at && number === lane.number) return
    const lanes = this.orderOf(lane)
    lanes.remove(lane)
    lane.ready_at = readyAt
    lane.number = number
    if (first !== undefined) lanes.insert(lane)
  }

  private orderOf({ queue }: Lane): SortedList<ReadyTime, Lane> {
    return queue.lane?.urgent === true ? this.urgent : this.ready
  }
}

const take = <A>(items: Iterable<A>, limit: number): ReadonlyArray<A> => {
  const taken: Array<A> = []
  for (const item of items) if (taken.push(item) >= limit) break
  return taken
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
