import type { WorkspaceId } from "../wire/Ids.ts"

/** The kinds of jobs. Storage does not depend on their meaning. */
export const jobKinds = [
  "collect",
  "ask_carrier",
  "poll_carrier",
  "carrier_callback",
  "close_request",
  "end_action",
  "expire_quote",
  "refresh_quote",
  "deliver",
  "cancel_deliveries",
  "drop_subscription",
  "recover_deliveries"
] as const
export type JobKind = (typeof jobKinds)[number]

/**
 * A queue of jobs within a workspace: at most `limit` of them are leased at once.
 *
 * Jobs with the same lane name must have the same limit and urgency.
 */
export interface JobLane {
  readonly name: string
  readonly limit: number
  /** Urgent jobs are claimed before all others that are due. */
  readonly urgent: boolean
}

/** A job that a change creates. */
export interface NewJob {
  readonly kind: JobKind
  /** When it is due, in milliseconds of workspace time. */
  readonly due_at: number
  /**
   * Ordered jobs of a workspace run one at a time, by `(due_at, number)`: none can be claimed while an earlier one is
   * leased. The timers of a sandbox are ordered, so that its events always have the same order. Other jobs run
   * concurrently.
   */
  readonly ordered: boolean
  /** Its lane. Only jobs that are not ordered have one. */
  readonly lane?: JobLane
  /** The input of its handler, as JSON text; never facts about a person. */
  readonly payload: string
}

/** How a job is queued: in order, in a lane, or neither. */
export type JobQueue = Pick<NewJob, "ordered"> & Partial<Pick<NewJob, "lane">>

/** A job that one host holds until the lease ends. */
export interface ClaimedJob extends NewJob {
  readonly workspace_id: WorkspaceId
  /** A sequence number; together with the workspace it identifies the job. */
  readonly number: number
  /** Counts the claims of this job, from 1. It is the fencing token: only the newest claim can finish the job. */
  readonly lease: number
  /** How many earlier claims ended by the lease's expiry, because the host or the job failed. */
  readonly expired_leases: number
}

/** Identifies a lease: all that is needed to finish its job. */
export type Lease = Pick<ClaimedJob, "workspace_id" | "number" | "lease">
