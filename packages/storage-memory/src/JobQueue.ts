import type { Ids, Job, Storage } from "@quotewire/core"
import { Lane, type StoredJob } from "./Lane.ts"
import { Heap } from "./Ordered.ts"

interface Lanes {
  clock_offset_ms: number
  ordered: Lane | null
  unordered: Lane | null
  readonly named: Map<string, Lane>
}

const allOf = (lanes: Lanes): ReadonlyArray<Lane> =>
  [lanes.ordered, lanes.unordered, ...lanes.named.values()].filter((lane) => lane !== null)

/** What a claim covers: all workspaces, or the ordered jobs of one. */
interface Scope {
  /** The lane to claim from next, if its first job is due by then. */
  readonly ready: (now: number) => Lane | undefined
  readonly expired_leases: () => Lane | undefined
}

/**
 * Due jobs of all workspaces.
 *
 * Jobs wait in the lanes of their workspace, by workspace time; lanes wait by real time. So a claim only looks at lanes with
 * due jobs, and moving a workspace's clock moves its lanes instead of its jobs.
 */
export class JobQueue {
  private readonly workspaces = new Map<Ids.WorkspaceId, Lanes>()
  /** Jobs that were claimed and not released. They can still be finished after their lease has ended. */
  private readonly held = new Map<number, StoredJob>()
  private readonly ready = readyLanes()
  /** Urgent lanes, which are claimed first. */
  private readonly urgent = readyLanes()
  private readonly expired_leases = new Heap<Lane>({
    before: (first, second) => first.lease_expires_at < second.lease_expires_at,
    place: (lane, slot) => {
      lane.lease_slot = slot
    }
  })
  private readonly everywhere: Scope = {
    ready: (now) => {
      const urgent = this.urgent.peek()
      return urgent !== undefined && urgent.ready_at <= now ? urgent : this.ready.peek()
    },
    expired_leases: () => this.expired_leases.peek()
  }
  private last_number = 0

  /** How many jobs a workspace has, waiting and leased. */
  size(workspace_id: Ids.WorkspaceId): number {
    const lanes = this.workspaces.get(workspace_id)
    return lanes === undefined ? 0 : allOf(lanes).reduce((size, lane) => size + lane.size, 0)
  }

  add(workspace_id: Ids.WorkspaceId, jobs: ReadonlyArray<Job.NewJob>): void {
    for (const { kind, due_at, ordered, payload, lane: named = null } of jobs) {
      const lane = named === null ? this.lane(workspace_id, ordered) : this.namedLane(workspace_id, named)
      this.last_number += 1
      lane.waiting.push({
        lane,
        number: this.last_number,
        kind,
        due_at,
        payload,
        lease: 0,
        expired_leases: 0,
        lease_ends_at: 0,
        leased: false,
        slot: -1
      })
      this.refresh(lane)
    }
  }

  /** Whether no job is leased, and none is due at this real time. */
  isIdle(now: number): boolean {
    for (const lanes of this.workspaces.values()) {
      if (allOf(lanes).some(({ due_at, leased }) => leased.size > 0 || (due_at !== null && due_at <= now))) return false
    }
    return true
  }

  /** When the next waiting job of a workspace is due, in real time; null if none waits. */
  nextDueAt(workspace_id: Ids.WorkspaceId): number | null {
    const lanes = this.workspaces.get(workspace_id)
    return lanes === undefined ? null : earliest(allOf(lanes).map(({ due_at }) => due_at))
  }

  /** Adds all jobs, waiting and leased, to an empty queue, in the same order and with the clocks of their workspaces. */
  copyTo(copy: JobQueue): void {
    for (const [workspace_id, lanes] of this.workspaces) {
      copy.moveClock(workspace_id, lanes.clock_offset_ms)
      const jobs = allOf(lanes).flatMap(({ leased, waiting }) => [...waiting.all, ...leased.all])
      jobs.sort((first, second) => first.number - second.number)
      for (const { due_at, kind, lane, payload } of jobs) {
        const job = { due_at, kind, ordered: lane.ordered, payload }
        copy.add(workspace_id, [lane.named === null ? job : { ...job, lane: lane.named }])
      }
    }
  }

  /** Whether the lease is the job's newest claim, not finished and not released. */
  holds(lease: Job.Lease): boolean {
    return this.find(lease) !== undefined
  }

  finish(lease: Job.Lease): void {
    const job = this.find(lease)
    if (job === undefined) return
    this.held.delete(job.number)
    job.lane.drop(job)
    this.refresh(job.lane)
    this.forgetIfEmpty(job.lane)
  }

  release(lease: Job.Lease): void {
    const job = this.find(lease)
    if (job === undefined) return
    this.held.delete(job.number)
    if (job.leased) job.lane.release(job)
    this.refresh(job.lane)
  }

  moveClock(workspace_id: Ids.WorkspaceId, clock_offset_ms: number): void {
    const lanes = this.lanes(workspace_id)
    lanes.clock_offset_ms = clock_offset_ms
    for (const lane of allOf(lanes)) {
      lane.clock_offset_ms = clock_offset_ms
      this.refresh(lane)
    }
  }

  /** Whether an ordered job of a workspace is due before a workspace time, except those that are finished. */
  hasOrderedBefore(workspace_id: Ids.WorkspaceId, due_before: number, finished: ReadonlyArray<Job.Lease>): boolean {
    const lane = this.workspaces.get(workspace_id)?.ordered ?? null
    if (lane === null) return false
    const numbers = new Set(finished.map(({ number }) => number))
    const isEarlier = ({ due_at, number }: StoredJob) => due_at < due_before && !numbers.has(number)
    return lane.waiting.all.some(isEarlier) || lane.leased.all.some(isEarlier)
  }

  claim({ now, lease_ms, limit, workspace_id, ahead_ms }: Storage.ClaimQuery): Storage.JobClaim {
    const scope = workspace_id === undefined ? this.everywhere : this.orderedOf(workspace_id)
    for (
      let lane = scope.expired_leases();
      lane !== undefined && lane.lease_expires_at <= now;
      lane = scope.expired_leases()
    ) {
      lane.expireLeases(now)
      this.refresh(lane)
    }
    const taken: Array<StoredJob> = []
    const closed: Array<Lane> = []
    while (taken.length < limit) {
      const lane = scope.ready(now)
      if (lane === undefined || lane.ready_at > now + (ahead_ms ?? 0)) break
      lane.take(limit, taken, ahead_ms === undefined ? null : now + ahead_ms)
      this.refresh(lane)
      // The lane is full until some of the claimed jobs are done.
      if (lane.isFull) closed.push(lane)
    }
    const lease_ends_at = now + lease_ms
    const next_due_at = earliest([
      scope.ready(now)?.ready_at ?? null,
      workspace_id === undefined ? (this.urgent.peek()?.ready_at ?? null) : null,
      scope.expired_leases()?.lease_expires_at ?? null,
      ...closed.map(({ due_at }) => (due_at === null ? null : Math.max(due_at, lease_ends_at)))
    ])
    for (const job of taken) {
      if (this.held.has(job.number)) job.expired_leases += 1
      job.lane.lease(job, lease_ends_at)
      this.held.set(job.number, job)
      this.refresh(job.lane)
    }
    const lane = workspace_id === undefined ? null : (this.workspaces.get(workspace_id)?.ordered ?? null)
    return { jobs: taken.map(claimed), next_due_at, busy: lane !== null && lane.leased.size > 0 }
  }

  /** Erases the jobs of a workspace, waiting and leased, and returns how many. The clock stays. */
  erase(workspace_id: Ids.WorkspaceId): number {
    const lanes = this.workspaces.get(workspace_id)
    if (lanes === undefined) return 0
    const erased = this.size(workspace_id)
    for (const lane of allOf(lanes)) {
      for (const job of lane.waiting.all) this.held.delete(job.number)
      for (const job of lane.leased.all) this.held.delete(job.number)
      this.leave(this.readyOf(lane), lane.ready_slot)
      this.leave(this.expired_leases, lane.lease_slot)
    }
    lanes.ordered = null
    lanes.unordered = null
    lanes.named.clear()
    return erased
  }

  private find(lease: Job.Lease): StoredJob | undefined {
    const job = this.held.get(lease.number)
    return job?.lease === lease.lease && job.lane.workspace_id === lease.workspace_id ? job : undefined
  }

  private lanes(workspace_id: Ids.WorkspaceId): Lanes {
    const found = this.workspaces.get(workspace_id)
    if (found !== undefined) return found
    const lanes: Lanes = { clock_offset_ms: 0, ordered: null, unordered: null, named: new Map() }
    this.workspaces.set(workspace_id, lanes)
    return lanes
  }

  private lane(workspace_id: Ids.WorkspaceId, ordered: boolean): Lane {
    const lanes = this.lanes(workspace_id)
    const name = ordered ? "ordered" : "unordered"
    const lane = lanes[name] ?? new Lane(workspace_id, ordered, lanes.clock_offset_ms)
    lanes[name] = lane
    return lane
  }

  private namedLane(workspace_id: Ids.WorkspaceId, named: Job.JobLane): Lane {
    const lanes = this.lanes(workspace_id)
    const lane = lanes.named.get(named.name) ?? new Lane(workspace_id, false, lanes.clock_offset_ms, named)
    lanes.named.set(named.name, lane)
    return lane
  }

  /** Removes an empty lane, because subscriptions come and go. */
  private forgetIfEmpty(lane: Lane): void {
    if (lane.named !== null && lane.size === 0) this.workspaces.get(lane.workspace_id)?.named.delete(lane.named.name)
  }

  private readyOf(lane: Lane): Heap<Lane> {
    return lane.named?.urgent === true ? this.urgent : this.ready
  }

  private orderedOf(workspace_id: Ids.WorkspaceId): Scope {
    const lane = this.workspaces.get(workspace_id)?.ordered ?? undefined
    return {
      ready: () => (lane !== undefined && lane.ready_slot >= 0 ? lane : undefined),
      expired_leases: () => (lane !== undefined && lane.lease_slot >= 0 ? lane : undefined)
    }
  }

  /** Moves a lane to where its jobs now belong. */
  private refresh(lane: Lane): void {
    const due_at = lane.due_at
    const ready = this.readyOf(lane)
    if (due_at === null || lane.isFull) {
      this.leave(ready, lane.ready_slot)
    } else if (lane.ready_slot < 0 || lane.ready_at !== due_at) {
      lane.ready_at = due_at
      this.enter(ready, lane, lane.ready_slot)
    }
    const lease_expires_at = lane.leased.peek()?.lease_ends_at
    if (lease_expires_at === undefined) {
      this.leave(this.expired_leases, lane.lease_slot)
    } else if (lane.lease_slot < 0 || lane.lease_expires_at !== lease_expires_at) {
      lane.lease_expires_at = lease_expires_at
      this.enter(this.expired_leases, lane, lane.lease_slot)
    }
  }

  private enter(heap: Heap<Lane>, lane: Lane, slot: number): void {
    if (slot < 0) heap.push(lane)
    else heap.moved(lane, slot)
  }

  private leave(heap: Heap<Lane>, slot: number): void {
    if (slot >= 0) heap.remove(slot)
  }
}

const readyLanes = () =>
  new Heap<Lane>({
    before: (first, second) => first.ready_at < second.ready_at,
    place: (lane, slot) => {
      lane.ready_slot = slot
    }
  })

const earliest = (moments: ReadonlyArray<number | null>): number | null =>
  moments.reduce((first, moment) => (first === null || (moment !== null && moment < first) ? moment : first), null)

const claimed = (job: StoredJob): Job.ClaimedJob => ({
  workspace_id: job.lane.workspace_id,
  number: job.number,
  lease: job.lease,
  expired_leases: job.expired_leases,
  kind: job.kind,
  due_at: job.due_at,
  ordered: job.lane.ordered,
  payload: job.payload,
  ...(job.lane.named !== null && { lane: job.lane.named })
})
