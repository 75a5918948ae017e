import { maxWaitMs } from "../carriers/CallTime.ts"
import { maxAttemptMs } from "../carriers/Carrier.ts"
import type { JobLane, NewJob } from "../storage/Job.ts"
import type { LaneJob } from "../storage/Storage.ts"

/*
 * How far a sandbox's clock may jump. Real carriers live in real time, so the clock never jumps past a call to one of
 * them.
 */

/** The lane for calls to real carriers in a sandbox. It also contains the jobs that wait for a callback. */
export const lane: JobLane = { name: "real_carriers", limit: 1_000, urgent: false }

/** Whether a job holds the clock. */
export const holds = (job: Pick<NewJob, "lane">): boolean => job.lane?.name === lane.name

/**
 * The latest moment to which the clock may jump from `now`, given the calls that hold it; infinity if none does. Times
 * are milliseconds of workspace time.
 *
 * An ask, a poll or an expected callback holds the clock where it is, even before it is due, because a pause that the
 * carrier requests is real time. When an offer is refreshed is up to the service, so the clock jumps to the refresh. It
 * waits there as long as an attempt may take, including its wait for a connection.
 */
export const reach = (calls: ReadonlyArray<Pick<LaneJob, "kind" | "due_at">>, now: number): number =>
  calls.reduce((least, call) => Math.min(least, reachOf(call, now)), Number.POSITIVE_INFINITY)

const reachOf = ({ due_at, kind }: Pick<LaneJob, "kind" | "due_at">, now: number): number => {
  if (kind !== "refresh_quote") return now
  return now > due_at + maxAttemptMs + maxWaitMs ? Number.POSITIVE_INFINITY : Math.max(now, due_at)
}
