import { Context } from "effect"
import type { JobClaim } from "../storage/Storage.ts"

/**
 * The claim that a job came with; null if its jobs do not run side by side.
 *
 * All jobs of a claim begin after it. So a read that one of them begins is as new as the others need it, and they can
 * share it.
 */
export const Claim = Context.Reference<Pick<JobClaim, "jobs"> | null>("@quotewire/core/Claim", {
  defaultValue: () => null
})
