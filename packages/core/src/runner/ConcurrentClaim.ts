import { Context } from "effect"
import type { JobClaim } from "../storage/Storage.ts"

/**
 * The claim to which the running job belongs; null if the claim's jobs run one after another.
 *
 * Concurrent jobs of a claim all begin right after the claim, so they can share what one of them reads.
 */
export const ConcurrentClaim = Context.Reference<Pick<JobClaim, "jobs"> | null>("@quotewire/core/ConcurrentClaim", {
  defaultValue: () => null
})
