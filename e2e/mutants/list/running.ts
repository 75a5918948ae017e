import { inPackage, test } from "../Mutant.ts"

const retention = "packages/core/test/runner/retention.test.ts"
const controlCrashes = "packages/core/test/sandbox/controlCrashes.test.ts"

/** The runner, retention, and the clock of a sandbox. */
export const running = inPackage("core")({
  "access/Workspaces.ts": [
    {
      name: "a decision from before a reset",
      from: "if (now.workspace.reset_count !== workspace.reset_count) return",
      to: "if (now.workspace.reset_count < workspace.reset_count) return",
      found_by: test("packages/core/test/sandbox/resetMeanwhile.test.ts", "a test event")
    }
  ],
  "runner/WorkLoop.ts": [
    {
      name: "a job that kills its process is never abandoned",
      from: "if (job.expired_leases < maxExpiredLeases) return retryOnConflict(handled)",
      to: "return retryOnConflict(handled)",
      found_by: test(
        "packages/core/test/runner/runner.test.ts",
        "is retried, and makes only its own request fail after five attempts"
      )
    },
    {
      name: "an ordered job overtakes one that failed",
      from: "if (isDone || !job.ordered) return Effect.void",
      to: "if (isDone || job.ordered) return Effect.void",
      found_by: test(
        "packages/core/test/runner/runner.test.ts",
        "wait for the first job's retry if that job's handler crashes"
      )
    }
  ],
  "runner/Retention.ts": [
    {
      name: "retention stops after one batch",
      from: "if ((erased.records[kind] ?? 0) < batch) return",
      to: "return",
      found_by: test(retention, "sweeps a workspace completely within an hour, even in several batches")
    },
    {
      name: "what is kept in real time is erased in workspace time",
      from: 'kept_for.clock === "real" ? realNow : now',
      to: "now",
      found_by: test("packages/core/test/calls/log.test.ts", "erases an entry after 30 days of real time")
    }
  ],
  "sandbox/AdvanceSteps.ts": [
    {
      name: "the clock passes its target",
      from: "clock_offset_ms: Math.min(target.clock_target_ms, reach)",
      to: "clock_offset_ms: reach",
      found_by: test(
        "packages/core/test/sandbox/controls.test.ts",
        "returns the first response, marked as a replay, when the key and body are repeated"
      )
    }
  ],
  "sandbox/Reset.ts": [
    {
      name: "a late reset erases what came after it",
      from: 'storage.erase({ what: "workspace", workspace_id, expects })',
      to: 'storage.erase({ what: "workspace", workspace_id })',
      found_by: test(controlCrashes, "erases nothing that was created after the reset")
    }
  ],
  "sandbox/ForcedExpiry.ts": [
    {
      name: "a forced expiry takes quotes that came after it",
      from: " || quote.created_at > at) return",
      to: ") return",
      found_by: test(controlCrashes, "expires no quote that was created after the expiry")
    }
  ]
})
