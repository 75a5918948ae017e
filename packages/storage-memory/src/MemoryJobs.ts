import type { Ids, Job, Storage } from "@quotewire/core"
import { type Compare, compareText, type HeapItem, push, take } from "./ordered.ts"

/** A time that never comes. */
const never = Number.POSITIVE_INFINITY

/** A job that is not finished yet. It is in one heap: its lane's waiting jobs, or the leased jobs of all lanes. */
interface StoredJob extends HeapItem {
  readonly lane: Lane
  readonly number: number
  readonly kind: Job.JobKind
  /** When the job is due, in workspace time, so that moving the workspace's clock does not change the job. */
  readonly due_at: number
  readonly payload: string
  /** How many times the job was claimed. */
  lease: number
  expired_leases: number
  /** When the job's lease ends, in real time. Changes only while the job is not leased. */
  lease_ends_at: number
}

/**
 * A group of one workspace's jobs that are claimed by the same rule: its ordered jobs, the jobs of a named lane, or all
 * other jobs.
 */
interface Lane extends HeapItem {
  readonly workspace: WorkspaceJobs
  readonly queue: Job.JobQueue
  /** A heap, in the order in which the jobs are due. */
  readonly waiting: Array<StoredJob>
  readonly leased: Set<StoredJob>
  /** The number of the lane's first job. It orders lanes that are ready at the same time. */
  readonly number: number
  /** When the lane's next job can be claimed, in real time. Only `refresh` changes this. */
  ready_at: number
}

/** The jobs of one workspace, and the workspace's clock. */
interface WorkspaceJobs {
  readonly id: Ids.WorkspaceId
  /** Workspace time minus real time. */
  clock_offset_ms: number
  /** The lanes by their key (`keyOf`). No lane is empty. */
  readonly lanes: Map<string, Lane>
}

const keyOf = ({ lane, ordered }: Job.JobQueue): string =>
  ordered ? "ordered" : lane === undefined ? "others" : `lane ${lane.name}`

const byDueTime: Compare<StoredJob> = (a, b) => a.due_at - b.due_at || a.number - b.number

const byLeaseEnd: Compare<StoredJob> = (a, b) => a.lease_ends_at - b.lease_ends_at || a.number - b.number

const byReadyTime: Compare<Lane> = (a, b) => a.ready_at - b.ready_at || a.number - b.number

/** When a job is due, in real time. By rule 4 (clock), `due_at` is in workspace time. */
const dueAt = ({ due_at, lane: { workspace } }: StoredJob): number => due_at - workspace.clock_offset_ms

/** Whether no more jobs can be claimed until some of the leased jobs are done. */
const isFull = ({ leased, queue: { lane, ordered } }: Lane): boolean =>
  ordered ? leased.size > 0 : lane !== undefined && leased.size >= lane.limit

/** When the lane's next waiting job can be claimed, in real time. */
const readyAt = (lane: Lane): number => {
  const [first] = lane.waiting
  if (first === undefined) return never
  if (!isFull(lane)) return dueAt(first)
  return Math.max(dueAt(first), earliest(Array.from(lane.leased, ({ lease_ends_at }) => lease_ends_at)))
}

/** How far ahead of the clock a claim looks; undefined if it does not. Only claims for one workspace can look ahead. */
const aheadOf = ({ ahead_ms, workspace_id }: Storage.ClaimQuery): number | undefined =>
  workspace_id === undefined ? undefined : ahead_ms

const jobsOf = ({ lanes }: WorkspaceJobs): ReadonlyArray<StoredJob> =>
  [...lanes.values()].flatMap(({ leased, waiting }) => [...waiting, ...leased])

/**
 * The jobs of all workspaces.
 *
 * Within a workspace, jobs wait in lanes, ordered by workspace time. Lanes are ordered by real time. So a claim looks
 * only at lanes with due jobs, and moving a workspace's clock moves its lanes instead of its jobs.
 */
export class MemoryJobs {
  private readonly workspaces = new Map<Ids.WorkspaceId, WorkspaceJobs>()
  /**
   * The lanes with a job that can be claimed now or later, in two heaps, ordered by when that job can be claimed: the
   * urgent lanes, which are claimed first, and the other lanes.
   */
  private readonly ready: readonly [urgent: Array<Lane>, others: Array<Lane>] = [[], []]
  /** A heap, in the order in which the leases end. */
  private readonly leased: Array<StoredJob> = []
  /** The jobs that were claimed and not released, by number. They can still be finished after their lease has ended. */
  private readonly claimedJobs = new Map<number, StoredJob>()
  private last_number = 0

  add(workspaceId: Ids.WorkspaceId, jobs: ReadonlyArray<Job.NewJob>): void {
    const changed = new Set<Lane>()
    for (const { due_at, kind, lane: named, ordered, payload } of jobs) {
      const lane = this.laneFor(workspaceId, { ordered, ...(named !== undefined && { lane: named }) })
      const job = {
        lane,
        number: ++this.last_number,
        kind,
        due_at,
        payload,
        lease: 0,
        expired_leases: 0,
        lease_ends_at: 0,
        at: 0
      }
      push(lane.waiting, job, byDueTime)
      changed.add(lane)
    }
    this.refresh(changed)
  }

  /**
   * Whether the lease belongs to the job's latest claim, and the job is neither finished nor released (rule 2, leases).
   */
  holds(lease: Job.Lease): boolean {
    return this.find(lease) !== undefined
  }

  /** Removes finished jobs. Lost leases are ignored. */
  finish(leases: ReadonlyArray<Job.Lease>): void {
    const changed = new Set<Lane>()
    for (const lease of leases) {
      const job = this.find(lease)
      if (job === undefined) continue
      const { lane } = job
      this.claimedJobs.delete(job.number)
      // A job whose lease has ended is waiting again, but can still be finished.
      if (lane.leased.delete(job)) take(this.leased, job, byLeaseEnd)
      else take(lane.waiting, job, byDueTime)
      changed.add(lane)
    }
    this.refresh(changed)
    for (const { leased, queue, waiting, workspace } of changed) {
      if (leased.size === 0 && waiting.length === 0) workspace.lanes.delete(keyOf(queue))
    }
  }

  /** Makes jobs claimable again. Lost leases are ignored. */
  release(leases: ReadonlyArray<Job.Lease>): void {
    const changed = new Set<Lane>()
    for (const lease of leases) {
      const job = this.find(lease)
      if (job === undefined) continue
      this.claimedJobs.delete(job.number)
      if (!job.lane.leased.has(job)) continue
      this.endLease(job)
      changed.add(job.lane)
    }
    this.refresh(changed)
  }

  moveClock(workspaceId: Ids.WorkspaceId, clockOffsetMs: number): void {
    const workspace = this.workspaceFor(workspaceId)
    workspace.clock_offset_ms = clockOffsetMs
    this.refresh(workspace.lanes.values())
  }

  /** Whether a workspace has an ordered job that is due before a workspace time. Jobs in `finished` are ignored. */
  hasOrderedBefore(workspaceId: Ids.WorkspaceId, dueBefore: number, finished: ReadonlyArray<Job.Lease>): boolean {
    const lane = this.orderedLane(workspaceId)
    if (lane === undefined) return false
    const numbers = new Set(finished.map(({ number }) => number))
    const isOpen = ({ due_at, number }: StoredJob) => due_at < dueBefore && !numbers.has(number)
    return lane.waiting.some(isOpen) || [...lane.leased].some(isOpen)
  }

  /**
   * Leases due jobs: from the lanes of all workspaces, one after another, or only the ordered jobs of one workspace.
   */
  claim(query: Storage.ClaimQuery): Storage.JobClaim {
    const { limit, now, workspace_id } = query
    this.endLeases(now)
    const ordered = workspace_id === undefined ? undefined : this.orderedLane(workspace_id)
    const leasedBefore = workspace_id === undefined ? this.leased.slice(0, 1) : [...(ordered?.leased ?? [])]
    const nextLanes = () => (workspace_id === undefined ? this.ready.map(([lane]) => lane) : [ordered])
    const jobs: Array<StoredJob> = []
    while (jobs.length < limit) {
      const lane = nextLanes().find(
        (candidate) =>
          candidate !== undefined && !isFull(candidate) && candidate.ready_at <= now + (aheadOf(query) ?? 0)
      )
      if (lane === undefined) break
      for (const job of this.lease(lane, query, limit - jobs.length)) jobs.push(job)
    }
    const later = [
      ...leasedBefore.map((job) => job.lease_ends_at),
      ...nextLanes().map((lane) => lane?.ready_at ?? never)
    ]
    return { jobs: jobs.map(claimed), next_due_at: orNull(earliest(later)), busy: (ordered?.leased.size ?? 0) > 0 }
  }

  /** Erases a workspace's jobs, both waiting and leased, and returns how many there were. The clock stays. */
  erase(workspaceId: Ids.WorkspaceId): number {
    const workspace = this.workspace(workspaceId)
    const jobs = jobsOf(workspace)
    for (const { number } of jobs) this.claimedJobs.delete(number)
    for (const lane of workspace.lanes.values()) {
      for (const job of lane.leased) take(this.leased, job, byLeaseEnd)
      lane.leased.clear()
      lane.waiting.length = 0
    }
    this.refresh(workspace.lanes.values())
    workspace.lanes.clear()
    return jobs.length
  }

  hasJobs(workspaceId: Ids.WorkspaceId): boolean {
    return this.workspace(workspaceId).lanes.size > 0
  }

  /** The first jobs by due time: the jobs of a named lane, or the jobs of all named lanes and the ordered jobs. */
  list({ lane: name, limit, workspace_id }: Storage.LaneQuery): ReadonlyArray<Storage.LaneJob> {
    return [...this.workspace(workspace_id).lanes.values()]
      .filter(({ queue: { lane, ordered } }) =>
        name === undefined ? ordered || lane !== undefined : lane?.name === name
      )
      .flatMap(({ leased, waiting }) => [...waiting, ...leased])
      .sort(byDueTime)
      .slice(0, limit)
      .map(({ due_at, kind, lease, payload }) => ({ due_at, kind, lease, payload }))
  }

  /** The jobs that are due and could be claimed, by kind. */
  backlog({ limit, now }: Storage.BacklogQuery): ReadonlyArray<Storage.Backlog> {
    const byKind = Map.groupBy(this.due(now, limit), ({ kind }) => kind)
    return Array.from(byKind, ([kind, jobs]) => ({
      kind,
      due: jobs.length,
      oldest_due_at: earliest(jobs.map(dueAt))
    })).sort((a, b) => compareText(a.kind, b.kind))
  }

  /** The jobs that are due at or before `now`, in real time, and could be claimed. Returns at most `limit`. */
  private due(now: number, limit: number): ReadonlyArray<StoredJob> {
    const due: Array<StoredJob> = []
    for (const lane of this.ready.flat()) {
      if (isFull(lane) || lane.ready_at > now) continue
      for (const job of lane.waiting) {
        if (due.length === limit) return due
        if (dueAt(job) <= now) due.push(job)
      }
    }
    return due
  }

  /**
   * Leases the first jobs of a lane. From an ordered lane, leases all jobs with the earliest due time, or all jobs that
   * are due within `ahead_ms`. From any other lane, leases one job, because the next due job may be in a different
   * lane.
   */
  private lease(lane: Lane, query: Storage.ClaimQuery, limit: number): ReadonlyArray<StoredJob> {
    const { leased, queue, waiting } = lane
    const { lease_ms, now } = query
    const ahead_ms = aheadOf(query)
    const dueBy = ahead_ms === undefined ? lane.ready_at : now + ahead_ms
    const jobs: Array<StoredJob> = []
    while (jobs.length < (queue.ordered ? limit : 1)) {
      const [job] = waiting
      if (job === undefined || dueAt(job) > dueBy) break
      take(waiting, job, byDueTime)
      if (this.claimedJobs.has(job.number)) job.expired_leases += 1
      job.lease += 1
      job.lease_ends_at = now + lease_ms
      leased.add(job)
      push(this.leased, job, byLeaseEnd)
      this.claimedJobs.set(job.number, job)
      jobs.push(job)
    }
    this.refresh([lane])
    return jobs
  }

  /** Makes jobs whose leases have ended wait again. */
  private endLeases(now: number): void {
    const changed = new Set<Lane>()
    for (let job = this.leased[0]; job !== undefined && job.lease_ends_at <= now; job = this.leased[0]) {
      this.endLease(job)
      changed.add(job.lane)
    }
    this.refresh(changed)
  }

  /** Makes a leased job wait again. Its due time does not change. The caller refreshes the lane. */
  private endLease(job: StoredJob): void {
    job.lane.leased.delete(job)
    take(this.leased, job, byLeaseEnd)
    push(job.lane.waiting, job, byDueTime)
  }

  /** Puts lanes back in order after their jobs or their workspace's clock have changed. */
  private refresh(changed: Iterable<Lane>): void {
    for (const lane of changed) {
      const lanes = this.ready[lane.queue.lane?.urgent === true ? 0 : 1]
      const ready_at = readyAt(lane)
      if (ready_at === lane.ready_at) continue
      if (lane.ready_at !== never) take(lanes, lane, byReadyTime)
      lane.ready_at = ready_at
      if (ready_at !== never) push(lanes, lane, byReadyTime)
    }
  }

  private find({ lease, number, workspace_id }: Job.Lease): StoredJob | undefined {
    const job = this.claimedJobs.get(number)
    return job?.lease === lease && job.lane.workspace.id === workspace_id ? job : undefined
  }

  /** A workspace's jobs, for reading only. If nothing is stored for the workspace, it has no lanes. */
  private workspace(id: Ids.WorkspaceId): WorkspaceJobs {
    return this.workspaces.get(id) ?? { id, clock_offset_ms: 0, lanes: new Map() }
  }

  private workspaceFor(id: Ids.WorkspaceId): WorkspaceJobs {
    const workspace = this.workspace(id)
    this.workspaces.set(id, workspace)
    return workspace
  }

  private orderedLane(workspaceId: Ids.WorkspaceId): Lane | undefined {
    return this.workspace(workspaceId).lanes.get(keyOf({ ordered: true }))
  }

  /** Finds or creates the lane that a job is added to. */
  private laneFor(workspaceId: Ids.WorkspaceId, queue: Job.JobQueue): Lane {
    const workspace = this.workspaceFor(workspaceId)
    const key = keyOf(queue)
    const lane: Lane = workspace.lanes.get(key) ?? {
      workspace,
      queue,
      waiting: [],
      leased: new Set(),
      number: this.last_number + 1,
      ready_at: never,
      at: 0
    }
    workspace.lanes.set(key, lane)
    return lane
  }

  // The rest of this class is used only by tests.

  /** Whether no job is leased and no job is due at this real time. */
  isIdle(now: number): boolean {
    return this.leased.length === 0 && this.due(now, 1).length === 0
  }

  /** When a workspace's next waiting job is due, in real time; null if no job is waiting. */
  nextDueAt(workspaceId: Ids.WorkspaceId): number | null {
    const lanes = [...this.workspace(workspaceId).lanes.values()]
    return orNull(earliest(lanes.flatMap(({ waiting }) => waiting.slice(0, 1).map(dueAt))))
  }

  /** Creates a queue that has the same clocks and the same jobs in the same order. None of its jobs is leased. */
  copy(): MemoryJobs {
    const copy = new MemoryJobs()
    for (const workspace of this.workspaces.values()) {
      copy.moveClock(workspace.id, workspace.clock_offset_ms)
      const jobs = jobsOf(workspace).toSorted((a, b) => a.number - b.number)
      copy.add(
        workspace.id,
        jobs.map(({ due_at, kind, lane, payload }) => ({ due_at, kind, payload, ...lane.queue }))
      )
    }
    return copy
  }
}

const earliest = (moments: ReadonlyArray<number>): number => moments.reduce((a, b) => Math.min(a, b), never)

const orNull = (time: number): number | null => (time === never ? null : time)

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
