import { assert } from "@effect/vitest"
import { Change, Storage } from "@quotewire/core"
import { Cause, Effect } from "effect"
import { workspace } from "./hosts.ts"

/** A change that violates a CHECK is a defect that names the table and the constraint. */
export const namesItsConstraint = Effect.gen(function* () {
  const { commit } = yield* Storage.Storage
  const lane = { name: "a", limit: 0, urgent: false }
  const change = Change.make(workspace(1), {
    jobs: [{ kind: "collect", due_at: 0, ordered: false, lane, payload: "{}" }]
  })
  const cause = yield* Effect.flip(Effect.sandbox(commit(change)))
  assert.include(
    Cause.pretty(cause),
    "PostgreSQL refuses a statement: 23514 table lane constraint lane_max_leased_positive"
  )
})
