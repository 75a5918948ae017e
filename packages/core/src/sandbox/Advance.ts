import { Clock, Effect, Schema } from "effect"
import { changeOf, type Workspace, Workspaces, withLaterTarget } from "../access/Workspaces.ts"
import { acceptOnce } from "../calls/acceptOnce.ts"
import { Runner } from "../runner/Runner.ts"
import * as Kind from "../storage/Kind.ts"
import { Storage } from "../storage/Storage.ts"
import type { WorkspaceId } from "../wire/Ids.ts"

/** The clock position that an advance must reach. A reset cancels it. */
export const Goal = Schema.Struct({ clock_target_ms: Schema.Int, reset_count: Schema.Int })
export type Goal = typeof Goal.Type

/** Targets in storage, by ids derived from their calls. */
export const kind = Kind.make({
  name: "advance",
  schema: Goal,
  survives_reset: true,
  kept_for: { period: "quotes", clock: "workspace" }
})

/** Moves the clock of a sandbox, in steps. */
export const make = Effect.gen(function* () {
  const storage = yield* Storage
  const workspaces = yield* Workspaces
  const runner = yield* Runner

  /** Accepts an advance: it sets the clock's new target. */
  const accept = (workspace_id: WorkspaceId, key: string | null, seconds: number) =>
    acceptOnce({ storage, workspaces }, kind, { workspace_id, id: `${seconds} ${key}` }, ({ workspace, now }) => {
      const advanced = withLaterTarget(workspace, seconds, now - workspace.clock_offset_ms)
      const { clock_target_ms, reset_count } = advanced
      // Dated at the target, because an advance of a year must not make its own record a year old.
      const at = now + clock_target_ms - workspace.clock_offset_ms
      return Effect.succeed({ value: { clock_target_ms, reset_count }, workspace: advanced, at })
    })

  /** Runs the next jobs on the way to the target, and moves the clock with each change of theirs. */
  const runAhead = (seen: Workspace, target: Goal) => {
    let workspace = seen
    return runner.runAhead(
      seen,
      target.clock_target_ms - seen.clock_offset_ms,
      Effect.fnUntraced(function* (batch) {
        const moved = movedTo(workspace, target, batch.none_due_before, yield* Clock.currentTimeMillis)
        const { writes, clock_offset_ms } = changeOf(moved)
        yield* storage.commit({ ...batch, writes: [...batch.writes, ...writes], clock_offset_ms })
        workspace = moved
      })
    )
  }

  /**
   * Takes one step to the target. It runs the next jobs ahead of the clock, which moves with them. If no job is left, it moves the
   * clock to the target. If the next job cannot run ahead of its time, it runs all jobs that are due, and then moves the clock to
   * the next due time or to the target.
   */
  const step = Effect.fnUntraced(function* (id: WorkspaceId, target: Goal) {
    const { workspace: seen } = yield* workspaces.moment(id)
    const ahead = isEnded(seen, target) ? nothing : yield* runAhead(seen, target)
    if (ahead.jobs > 0) return "advancing"
    const { next_due_at } = ahead.isClear ? { next_due_at: null } : yield* runner.runDue(id)
    if (isEnded(seen, target)) return "reached"
    const real_now = yield* Clock.currentTimeMillis
    yield* workspaces.update(id, ({ workspace }) => advanceTo(workspace, seen, target, next_due_at, real_now))
    return "advancing"
  })

  return { accept, step }
})

const nothing = { jobs: 0, isClear: false }

/** Whether an advance has ended: the clock has reached its target, or a reset has cancelled it. */
const isEnded = (workspace: Workspace, target: Goal): boolean =>
  workspace.clock_offset_ms >= target.clock_target_ms || workspace.reset_count !== target.reset_count

/** The next version of the workspace, with its clock at the due time of a job; never moved back, and not beyond the target. */
const movedTo = (workspace: Workspace, target: Goal, due_at: number, real_now: number): Workspace => {
  const reach = Math.max(workspace.clock_offset_ms, due_at - real_now)
  return {
    ...workspace,
    version: workspace.version + 1,
    clock_offset_ms: Math.min(target.clock_target_ms, reach),
    clock_moved_at: real_now
  }
}

/**
 * The workspace with its clock advanced to the next due time or to the target.
 *
 * `next_due_at` is in real time and was read under the clock of `seen`. If the clock has advanced since, `next_due_at` is
 * outdated and the clock stays, so that no due job is skipped.
 */
const advanceTo = (
  workspace: Workspace,
  seen: Workspace,
  target: Goal,
  next_due_at: number | null,
  real_now: number
): Workspace => {
  const { clock_offset_ms } = workspace
  if (isEnded(workspace, target) || clock_offset_ms !== seen.clock_offset_ms) return workspace
  const reach = next_due_at === null ? target.clock_target_ms : clock_offset_ms + Math.max(0, next_due_at - real_now)
  return { ...workspace, clock_offset_ms: Math.min(target.clock_target_ms, reach), clock_moved_at: real_now }
}
