import type { Ids, Job } from "@quotewire/core"
import { Heap, type Placing } from "./Heap.ts"

/** A job in store. It is in exactly one heap of its lane: with the waiting, or with the leased. */
export interface StoredJob {
  readonly lane: Lane
  readonly number: number
  readonly kind: Job.JobKind
  /** In workspace time, so that moving a workspace's clock touches no job. */
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

const byDue: Placing<StoredJob> = {
  before: (first, second) =>
    first.due_at < second.due_at || (first.due_at === second.due_at && first.number < second.number),
  place
}

const byLeaseEnd: Placing<StoredJob> = {
  before: (first, second) => first.lease_ends_at < second.lease_ends_at,
  place
}

/** The ordered jobs of one workspace, those of one of its named lanes, or the others. */
export class Lane {
  readonly workspace_id: Ids.WorkspaceId
  readonly ordered: boolean
  /** What its jobs say of it; null where its jobs have no lane. */
  readonly named: Job.JobLane | null
  readonly waiting = new Heap<StoredJob>(byDue)
  readonly leased = new Heap<StoredJob>(byLeaseEnd)
  /** Workspace time minus real time. */
  clock_offset_ms: number
  /** When its first waiting job can be claimed, in real time, as long as it is with the ready lanes. */
  ready_at = 0
  ready_slot = -1
  /** When its first lease ends, as long as it is with the leased lanes. */
  lapses_at = 0
  lapses_slot = -1

  /** How many of its jobs a claim that is under way has taken and not leased yet. */
  private taking = 0

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

  /** Whether nothing more may be claimed before some of what is leased is done. */
  get isFull(): boolean {
    const leased = this.leased.size + this.taking
    return this.ordered ? leased > 0 : this.named !== null && leased >= this.named.limit
  }

  /** When the first waiting job is due, in real time. */
  get due_at(): number | null {
    const first = this.waiting.peek()
    return first === undefined ? null : first.due_at - this.clock_offset_ms
  }

  /**
   * Takes what one claim may have at once: an ordered lane gives the jobs that share its earliest moment, any other lane
   * its first job. What is taken is in neither heap until the claim leases it.
   */
  take(limit: number, taken: Array<StoredJob>): void {
    const due_at = this.waiting.peek()?.due_at
    while (taken.length < limit) {
      const job = this.waiting.peek()
      if (job === undefined || job.due_at !== due_at) return
      this.waiting.remove(0)
      this.taking += 1
      taken.push(job)
      if (!this.ordered) return
    }
  }

  lease(job: StoredJob, lease_ends_at: number): void {
    this.taking -= 1
    job.lease += 1
    job.lease_ends_at = lease_ends_at
    job.leased = true
    this.leased.push(job)
  }

  /** Lets a leased job wait again, as due as it was. */
  giveBack(job: StoredJob): void {
    this.leased.remove(job.slot)
    job.leased = false
    this.waiting.push(job)
  }

  /** Lets the jobs wait again whose leases have ended. */
  lapse(now: number): void {
    for (let job = this.leased.peek(); job !== undefined && job.lease_ends_at <= now; job = this.leased.peek()) {
      this.giveBack(job)
    }
  }

  drop(job: StoredJob): void {
    if (job.leased) this.leased.remove(job.slot)
    else this.waiting.remove(job.slot)
  }
}
