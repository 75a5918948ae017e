import { Context } from "effect"
import type { JobKind } from "../storage/Job.ts"
import type { JobHandler, JobHandlers } from "./JobHandler.ts"
import type { QuotingJob } from "./JobPayload.ts"

/** The handlers for some kinds of job. */
export interface HandlersOf<Kind extends JobKind> {
  readonly jobs: JobHandlers<Kind>
  /** Abandons a job that failed too many times. The job's quote request or delivery, if any, fails too. */
  readonly abandon: JobHandler
}

/** The handler of each kind of job. */
export class Handlers extends Context.Service<
  Handlers,
  HandlersOf<JobKind> & {
    /**
     * The handlers for jobs that run ahead of the clock. Everything that they read and commit goes through a stage
     * (`Staging`).
     */
    readonly staged: HandlersOf<QuotingJob>
  }
>()("@quotewire/core/Handlers") {}
