import type { WorkspaceId } from "../wire/Ids.ts"

/** The kinds of due work. Storage does not care what they mean. */
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
  "drop_subscription"
] as const
export type JobKind = (typeof jobKinds)[number]

/**
 * A line in which jobs of a workspace wait: at most `limit` of them are leased at once, whatever else is due.
 *
 * The name stands for the limit and the urgency: jobs of one lane say the same of it.
 */
export interface JobLane {
  readonly name: string
  readonly limit: number
  /** Of all jobs that are due, the urgent ones come first. */
  readonly urgent: boolean
}

/** One piece of due work that a change leaves behind. */
export interface NewJob {
  readonly kind: JobKind
  /** When it is due, in milliseconds of workspace time. */
  readonly due_at: number
  /**
   * Ordered jobs of a workspace run one at a time, in the order of `(due_at, number)`: nobody can claim one while
   * an earlier one is leased. The timers of a sandbox are ordered, so that the same story is always told in the same
   * order. Jobs that are not ordered run side by side.
   */
  readonly ordered: boolean
  /** The lane in which it waits; only jobs that are not ordered have one. */
  readonly lane?: JobLane
  /** What the handler needs, as JSON text; never a person's facts. */
  readonly payload: string
}

/** A job that one host holds until its lease ends. */
export interface ClaimedJob extends NewJob {
  readonly workspace_id: WorkspaceId
  /** Counts up as jobs are stored; with the workspace it names the job. */
  readonly number: number
  /** Counts the claims of this job, from 1. It is the fence: only the newest claim can finish the job. */
  readonly lease: number
  /** How many of the claims before have ended with their lease: who held the job had died, or the job had. */
  readonly expired_leases: number
}

/** What names a lease: all that finishing a job needs. */
export type Lease = Pick<ClaimedJob, "workspace_id" | "number" | "lease">
