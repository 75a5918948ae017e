import { Clock, Effect, Schema } from "effect"
import { changeOf, expectationsOf, type Workspace, Workspaces } from "../access/Workspaces.ts"
import { acceptOnce } from "../calls/acceptOnce.ts"
import * as Kind from "../storage/Kind.ts"
import { commit, type Erased, retryOnConflict, Storage } from "../storage/Storage.ts"
import { restartSubscriptions } from "../webhooks/subscriptions/restartSubscriptions.ts"
import type { WorkspaceId } from "../wire/Ids.ts"

/** An accepted reset, identified by the workspace's reset count. */
export const AcceptedReset = Schema.Struct({ reset_count: Schema.Int })
export type AcceptedReset = typeof AcceptedReset.Type

/** The record kind for resets, keyed by the `Idempotency-Key` of their call. */
export const kind = Kind.make({
  name: "reset",
  schema: AcceptedReset,
  survives_reset: true,
  kept_for: { period: "quotes", clock: "workspace" }
})

/** Makes the functions that empty a sandbox. */
export const make = Effect.gen(function* () {
  const storage = yield* Storage
  const workspaces = yield* Workspaces

  /** Accepts a reset: sets the clock back to real time, and marks the data for erasure. */
  const accept = (workspace_id: WorkspaceId, key: string | null) =>
    acceptOnce({ storage, workspaces }, kind, { workspace_id, id: `${key}` }, ({ workspace, now }) => {
      const emptied: Workspace = {
        ...workspace,
        clock_offset_ms: 0,
        clock_target_ms: 0,
        active_scenario: null,
        quotes_expired_at: null,
        reset_count: workspace.reset_count + 1
      }
      const { reset_count } = emptied
      return Effect.succeed({ value: { reset_count }, workspace: emptied, at: now - workspace.clock_offset_ms })
    })

  /**
   * Erases the data of an accepted reset and records this in the workspace, unless another host has already done so.
   *
   * The erasure expects the workspace version that was read here. A host that was paused in the meantime therefore
   * cannot erase what was written after the reset.
   */
  const finish = (workspace_id: WorkspaceId, { reset_count }: AcceptedReset) =>
    Effect.suspend(() => {
      let removed: Erased = { records: {}, events: 0, jobs: 0 }
      const once = Effect.gen(function* () {
        const moment = yield* workspaces.moment(workspace_id)
        const { workspace } = moment
        if (workspace.erased_count >= reset_count) return
        const expects = expectationsOf(moment)
        removed = sum(removed, yield* storage.erase({ what: "workspace", workspace_id, expects }))
        yield* restartSubscriptions(storage, workspace_id, yield* Clock.currentTimeMillis, expects)
        const done = { ...workspace, version: workspace.version + 1, erased_count: workspace.reset_count }
        yield* commit(storage, changeOf(done))
      })
      return Effect.map(retryOnConflict(once), () => removed)
    })

  return { accept, finish }
})

const sum = (a: Erased, b: Erased): Erased => {
  const names = new Set([...Object.keys(a.records), ...Object.keys(b.records)])
  return {
    records: Object.fromEntries([...names].map((name) => [name, (a.records[name] ?? 0) + (b.records[name] ?? 0)])),
    events: a.events + b.events,
    jobs: a.jobs + b.jobs
  }
}
