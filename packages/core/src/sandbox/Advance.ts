import { Effect, Option, Schema } from "effect"
import { advancing, type Workspace } from "../access/Workspace.ts"
import { changeOf, type Workspaces } from "../access/Workspaces.ts"
import * as Kind from "../storage/Kind.ts"
import { commit } from "../storage/retryOnConflict.ts"
import type { Storage } from "../storage/Storage.ts"
import type { WorkspaceId } from "../wire/Ids.ts"

/** Where an advance is on its way to. A reset voids it. */
export const Goal = Schema.Struct({ clock_target_ms: Schema.Int, reset_count: Schema.Int })
export type Goal = typeof Goal.Type

/** Goals in storage, under names that stand for their calls. */
export const kind = Kind.make({
  name: "advance",
  schema: Goal,
  survives_reset: true,
  kept_for: { period: "quotes", clock: "workspace" }
})

/** The id of an advance: of its call's key and seconds. */
export const idOf = (key: string | null, seconds: number): string => `${seconds} ${key}`

/** What an advance works with. */
export interface Means {
  readonly storage: Storage["Service"]
  readonly workspaces: Workspaces["Service"]
}

/**
 * Accepts an advance once, under a name that stands for its call: everyone who runs the call, at whatever time, has the
 * same goal.
 *
 * The goal is a record that is written once, with the clock's new target and in the same change. It stays when the advance
 * has ended: the host may have died before the answer was kept, and another may have been paused before it began.
 */
export const accept = Effect.fnUntraced(function* (
  { storage, workspaces }: Means,
  workspace_id: WorkspaceId,
  name: string,
  seconds: number
) {
  const stored = yield* storage.get({ workspace_id, kind: kind.name, id: name })
  if (Option.isSome(stored)) return kind.value(stored.value)
  const { workspace, now } = yield* workspaces.moment(workspace_id)
  const begun = { ...advancing(workspace, seconds), version: workspace.version + 1 }
  const { clock_target_ms, reset_count } = begun
  const goal: Goal = { clock_target_ms, reset_count }
  // As old as its end: an advance of a year must not make its own goal a year old.
  const at = now + clock_target_ms - workspace.clock_offset_ms
  const record = kind.record(goal, { id: name, version: 1, created_at: at, updated_at: at })
  const change = changeOf(begun)
  yield* commit(storage, { ...change, writes: [...change.writes, record] })
  return goal
})

/** Whether an advance is over: its goal is reached, or a reset has put the clock back to a time in which it is no more. */
export const isOver = (workspace: Workspace, goal: Goal): boolean =>
  workspace.clock_offset_ms >= goal.clock_target_ms || workspace.reset_count !== goal.reset_count

/**
 * A workspace whose clock has come to the next due time on the way to a goal, or to the goal.
 *
 * `next_due_at` was found under the clock of `seen`, in real time. Where somebody else has moved the clock since, it says
 * nothing any more: the clock stays, so that it passes over nothing that is due.
 */
export const movedOn = (
  workspace: Workspace,
  seen: Workspace,
  goal: Goal,
  next_due_at: number | null,
  real_now: number
): Workspace => {
  const { clock_offset_ms } = workspace
  if (isOver(workspace, goal) || clock_offset_ms !== seen.clock_offset_ms) return workspace
  const reach = next_due_at === null ? goal.clock_target_ms : clock_offset_ms + Math.max(0, next_due_at - real_now)
  return { ...workspace, clock_offset_ms: Math.min(goal.clock_target_ms, reach) }
}
