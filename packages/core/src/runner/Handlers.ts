import { Context } from "effect"
import type { JobKind } from "../storage/Job.ts"
import type { JobHandler } from "./JobHandler.ts"

/** What a runner does with each kind of job. */
export class Handlers extends Context.Service<
  Handlers,
  {
    readonly jobs: { readonly [K in JobKind]: JobHandler }
    /** Ends a job that has failed too often, and what hangs on it. */
    readonly abandon: JobHandler
  }
>()("@quotewire/core/Handlers") {}
