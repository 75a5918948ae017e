import { Schema } from "effect"
import * as Kind from "../storage/Kind.ts"
import { OrganizationId, WorkspaceId } from "../wire/Ids.ts"
import { minute_ms } from "../wire/Timestamp.ts"
import { Environment } from "./Caller.ts"

/** One organization in one environment: the unit of isolation. Everything is looked up inside the caller's workspace. */
export const Workspace = Schema.Struct({
  id: WorkspaceId,
  version: Schema.Int,
  organization_id: OrganizationId,
  environment: Environment,
  created_at: Schema.Int.annotate({ description: "Milliseconds of real time" }),
  /** Workspace time is real time plus this; 0 in the live environment. */
  clock_offset_ms: Schema.Int,
  /** The target of the clock while it advances; otherwise equal to the offset. */
  clock_target_ms: Schema.Int,
  clock_moved_at: Schema.Int.annotate({
    description: "Milliseconds of real time: when an advance last began, or took a step"
  }),
  active_scenario: Schema.NullOr(Schema.String),
  quotes_expired_at: Schema.NullOr(Schema.Int),
  reset_count: Schema.Int,
  /** How many resets have erased the data; equal to `reset_count` unless a reset is under way. */
  erased_count: Schema.Int
})
export type Workspace = typeof Workspace.Type

/** Workspaces in storage, by id. */
export const kind = Kind.make({ name: "workspace", schema: Workspace, survives_reset: true })

/** A new workspace. */
export const create = (
  id: WorkspaceId,
  organization_id: OrganizationId,
  environment: Environment,
  created_at: number
): Workspace => ({
  id,
  version: 1,
  organization_id,
  environment,
  created_at,
  clock_offset_ms: 0,
  clock_target_ms: 0,
  clock_moved_at: created_at,
  active_scenario: null,
  quotes_expired_at: null,
  reset_count: 0,
  erased_count: 0
})

/** Workspace time at a moment of real time; both in milliseconds. */
export const timeOf = (workspace: Workspace, real_now: number): number => real_now + workspace.clock_offset_ms

/** The workspace with a later clock target. Concurrent advances add up. */
export const withLaterTarget = (workspace: Workspace, seconds: number, real_now: number): Workspace => ({
  ...workspace,
  clock_target_ms: workspace.clock_target_ms + seconds * 1_000,
  clock_moved_at: real_now
})

/** An advance that makes no step for this long is given up. Longer than a lease, for which a dead host can delay a step. */
const given_up_after_ms = minute_ms

/** How far the clock has still to advance, in milliseconds; 0 if the advance was given up. */
export const remainingAdvance = (workspace: Workspace, real_now: number): number => {
  const { clock_moved_at, clock_offset_ms, clock_target_ms } = workspace
  return real_now - clock_moved_at > given_up_after_ms ? 0 : Math.max(0, clock_target_ms - clock_offset_ms)
}
