import { assert, it } from "@effect/vitest"
import * as AdvanceProgress from "../../src/sandbox/AdvanceProgress.ts"

it("an advance's progress message is grammatical in the singular and the plural", () => {
  const progress = { ...AdvanceProgress.begin(0), clock_target_ms: 1_000, jobs: 1 }
  assert.strictEqual(
    AdvanceProgress.sentences(progress, 1_000),
    "The clock is still advancing: 1 second is left. This call has run 1 job, 1 per second."
  )
  assert.strictEqual(
    AdvanceProgress.sentences({ ...progress, clock_target_ms: 2_000_000, jobs: 2_500 }, 1_000),
    "The clock is still advancing: 2,000 seconds are left. This call has run 2,500 jobs, 2,500 per second."
  )
})
