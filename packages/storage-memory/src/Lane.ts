import type { Ids, Job } from "@quotewire/core"
import { Heap, type HeapOrder } from "./Ordered.ts"

/** A stored job. It is in exactly one heap of its lane, the waiting or the leased one. */
export interface StoredJob {
  readonly lane: Lane
  readonly number: number
  readonly kind: Job.JobKind
  /** In workspace time, so that moving the workspace's clock changes no job. */
  readonly due_at: number
  readonly payload: string
  lease: number
  expired_leases: number
  lease_ends_at: number
  leased: boolean
  slot: number
}

const place = (job: StoredJob, slot: number): void => {
  job.slot = slot
}

const byDue: HeapOrder<StoredJob> = {
  before: (first, second) =>
    first.due_at < second.due_at || (first.due_at === second.due_at && first.number < second.number),
  place
}

const byLeaseEnd: HeapOrder<StoredJob> = {
  before: (first, second) => first.lease_ends_at < second.lease_ends_at,
  place
}

/** A lane of one workspace: its ordered jobs, the jobs of a named lane, or all others. */
export class Lane {
  readonly workspace_id: Ids.WorkspaceId
  readonly ordered: boolean
  /** The lane as its jobs describe it; null for jobs without a lane. */
  readonly named: Job.JobLane | null
  readonly waiting = new Heap<StoredJob>(byDue)
  readonly leased = new Heap<StoredJob>(byLeaseEnd)
  /** Workspace time minus real time. */
  clock_offset_ms: number
  /** When its first waiting job can be claimed, in real time. Only valid while the lane is in the heap of ready lanes. */
  ready_at = 0
  ready_slot = -1
  /** When its first lease ends. Only valid while the lane is in the heap of leased lanes. */
  lease_expires_at = 0
  lease_slot = -1

  /** How many of its jobs the current claim has taken and not leased yet. */
  private claim_count = 0

  constructor(
    workspace_id: Ids.WorkspaceId,
    ordered: boolean,
    clock_offset_ms: number,
    named: Job.JobLane | null = null
  ) {
    this.workspace_id = workspace_id
    this.ordered = ordered
    this.named = named
    this.clock_offset_ms = clock_offset_ms
  }

  get size(): number {
    return this.waiting.size + this.leased.size
  }

  /** Whether no more jobs may be claimed until some of the leased ones are done. */
  get isFull(): boolean {
    const leased = this.leased.size + this.claim_count
    return this.ordered ? leased > 0 : this.named !== null && leased >= this.named.limit
  }

  /** When the first waiting job is due, in real time. */
  get due_at(): number | null {
    const first = this.waiting.peek()
    return first === undefined ? null : first.due_at - this.clock_offset_ms
  }

  /**
   * Takes the jobs for one claim. An ordered lane gives all jobs with the earliest due time, or all that are due by `until`,
   * in real time. Any other lane gives only its first job. The jobs leave the heap of waiting jobs; the claim then leases them.
   */
  take(limit: number, taken: Array<StoredJob>, until: number | null = null): void {
    const last_due_at = until === null ? this.waiting.peek()?.due_at : until + this.clock_offset_ms
    while (taken.length < limit) {
      const job = this.waiting.peek()
      if (job === undefined || last_due_at === undefined || job.due_at > last_due_at) return
      this.waiting.remove(0)
      this.claim_count += 1
      taken.push(job)
      if (!this.ordered) return
    }
  }

  lease(job: StoredJob, lease_ends_at: number): void {
    this.claim_count -= 1
    job.lease += 1
    job.lease_ends_at = lease_ends_at
    job.leased = true
    this.leased.push(job)
  }

  /** Returns a leased job to the waiting ones. Its due time does not change. */
  release(job: StoredJob): void {
    this.leased.remove(job.slot)
    job.leased = false
    this.waiting.push(job)
  }

  /** Returns the jobs whose leases have ended to the waiting ones. */
  expireLeases(now: number): void {
    for (let job = this.leased.peek(); job !== undefined && job.lease_ends_at <= now; job = this.leased.peek()) {
      this.release(job)
    }
  }

  drop(job: StoredJob): void {
    if (job.leased) this.leased.remove(job.slot)
    else this.waiting.remove(job.slot)
  }
}
