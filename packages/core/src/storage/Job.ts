import type { WorkspaceId } from "../wire/Ids.ts"

/** The kinds of jobs. Storage does not interpret them. */
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
 * A queue of jobs within a workspace, of which at most `limit` are leased at a time.
 *
 * Jobs with the same lane name must have the same limit and urgency.
 */
export interface JobLane {
  /** 1 to 1,000 printable ASCII characters. */
  readonly name: string
  /** A whole number from 1 to 2^31 - 1. */
  readonly limit: number
  /** Whether the lane's jobs are claimed before all other jobs of the workspace that are due. */
  readonly urgent: boolean
}

/** A job that a change creates. It is ordered, in a lane, or neither; an ordered job with a lane is refused. */
export interface NewJob {
  readonly kind: JobKind
  /** When the job is due, in milliseconds of workspace time: a whole number, at most 2^51 before or after 1970. */
  readonly due_at: number
  /**
   * Ordered jobs of a workspace run one at a time, by `(due_at, number)`: an ordered job cannot be claimed while an
   * earlier ordered job is leased. A sandbox's timers are ordered jobs, so that its events always have the same order.
   * Other jobs run concurrently.
   */
  readonly ordered: boolean
  /** The job's lane. Only jobs that are not ordered can have one. */
  readonly lane?: JobLane
  /** The handler's input, as JSON text; never facts about a person. */
  readonly payload: string
}

/** How a job is queued: in order, in a lane, or neither. */
export type JobQueue = Pick<NewJob, "ordered"> & Partial<Pick<NewJob, "lane">>

/** A job that one host holds until its lease expires. */
export interface ClaimedJob extends NewJob {
  readonly workspace_id: WorkspaceId
  /** A sequence number; together with the workspace it identifies the job. */
  readonly number: number
  /** Counts the claims of this job, from 1. It is the fencing token: only the latest claim can finish the job. */
  readonly lease: number
  /** How many earlier claims ended because their lease expired, which means that the host or the job had failed. */
  readonly expired_leases: number
}

/** Identifies a lease: everything that is needed to finish its job. */
export type Lease = Pick<ClaimedJob, "workspace_id" | "number" | "lease">
