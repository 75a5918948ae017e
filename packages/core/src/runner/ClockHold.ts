import { maxAttemptMs } from "../carriers/Carrier.ts"
import { maxWaitMs } from "../carriers/TimeBudget.ts"
import type { JobLane, NewJob } from "../storage/Job.ts"
import type { LaneJob } from "../storage/Storage.ts"

/*
 * Limits how far a sandbox's clock may jump. Real carriers need real time, so the clock never jumps past a call to a
 * real carrier.
 */

/** The lane for calls to real carriers in a sandbox. It also contains jobs that wait for a callback. */
export const lane: JobLane = { name: "real_carriers", limit: 1_000, urgent: false }

/** Whether a job holds the clock. */
export const holds = (job: Pick<NewJob, "lane">): boolean => job.lane?.name === lane.name

/**
 * The latest time to which the clock may jump from `now`, given the calls that hold the clock; infinity if no call
 * holds it. Times are milliseconds of workspace time.
 *
 * An ask, a poll or an expected callback stops the clock at `now`, even before its job is due: a pause that the carrier
 * requests is real time. The service itself decides when to refresh an offer, so the clock may jump to a refresh. The
 * clock then waits at that time as long as an attempt may take, including the attempt's wait for a connection.
 */
export const reach = (calls: ReadonlyArray<Pick<LaneJob, "kind" | "due_at">>, now: number): number =>
  calls.reduce((earliest, call) => Math.min(earliest, reachOf(call, now)), Number.POSITIVE_INFINITY)

const reachOf = ({ due_at, kind }: Pick<LaneJob, "kind" | "due_at">, now: number): number => {
  if (kind !== "refresh_quote") return now
  return now > due_at + maxAttemptMs + maxWaitMs ? Number.POSITIVE_INFINITY : Math.max(now, due_at)
}
