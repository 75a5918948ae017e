import { Context } from "effect"
import type { JobKind } from "../storage/Job.ts"
import type { JobHandler } from "./JobHandler.ts"

/** The handler of each kind of job. */
export class Handlers extends Context.Service<
  Handlers,
  {
    readonly jobs: { readonly [K in JobKind]: JobHandler }
    /** Gives up a job that has failed too often, and whatever depends on it. */
    readonly abandon: JobHandler
  }
>()("@quotewire/core/Handlers") {}
