import { assert } from "@effect/vitest"
import { Change, Storage } from "@quotewire/core"
import { Cause, Effect } from "effect"
import { workspace } from "./hosts.ts"

/**
 * A change that violates a CHECK is a defect that names the table and the constraint. No change that the storage sends
 * violates the CHECKs of its tables, so this adds one; `run` runs a statement in the database.
 */
export const namesItsConstraint = <E, R>(run: (sql: string) => Effect.Effect<unknown, E, R>) =>
  Effect.gen(function* () {
    yield* run("alter table quotewire.job add constraint job_not_at_seven check (due_at <> 7)")
    const { commit } = yield* Storage.Storage
    const change = Change.make(workspace(1), {
      jobs: [{ kind: "collect", due_at: 7, ordered: false, payload: "{}" }]
    })
    const cause = yield* Effect.flip(Effect.sandbox(commit(change)))
    assert.include(Cause.pretty(cause), "PostgreSQL refuses a statement: 23514 table job constraint job_not_at_seven")
    yield* run("alter table quotewire.job drop constraint job_not_at_seven")
  })
