import { Schema } from "effect"
import * as Kind from "../storage/Kind.ts"
import { OrganizationId, WorkspaceId } from "../wire/Ids.ts"
import { minute_ms } from "../wire/Timestamp.ts"
import { Environment } from "./Caller.ts"

/** One organization in one environment: the unit of isolation. It owns everything that is looked up for a caller. */
export const Workspace = Schema.Struct({
  id: WorkspaceId,
  version: Schema.Int,
  organization_id: OrganizationId,
  environment: Environment,
  created_at: Schema.Int.annotate({ description: "Milliseconds of real time" }),
  /** Workspace time is real time plus this; 0 in the live environment. */
  clock_offset_ms: Schema.Int,
  /** Where the clock is on its way to while time is being advanced; equal to the offset otherwise. */
  clock_target_ms: Schema.Int,
  clock_moved_at: Schema.Int.annotate({
    description: "Milliseconds of real time: when an advance last began, or took a step"
  }),
  active_scenario: Schema.NullOr(Schema.String),
  quotes_expired_at: Schema.NullOr(Schema.Int),
  reset_count: Schema.Int,
  /** How many of its resets have erased its data; equal to `reset_count` while none is under way. */
  erased_count: Schema.Int
})
export type Workspace = typeof Workspace.Type

/** Workspaces in storage, found by their ids. */
export const kind = Kind.make({ name: "workspace", schema: Workspace, survives_reset: true })

/** A workspace as it is made. */
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

/** A workspace whose clock is to be advanced: advances at once add up, and none is lost. */
export const advancing = (workspace: Workspace, seconds: number, real_now: number): Workspace => ({
  ...workspace,
  clock_target_ms: workspace.clock_target_ms + seconds * 1_000,
  clock_moved_at: real_now
})

/** An advance is given up when it has not taken a step for so long: longer than what a dead host held delays one. */
const given_up_after_ms = minute_ms

/** How far the clock of a workspace is still to go now, in milliseconds; nowhere where the advance is given up. */
export const wayToGo = (workspace: Workspace, real_now: number): number => {
  const { clock_moved_at, clock_offset_ms, clock_target_ms } = workspace
  return real_now - clock_moved_at > given_up_after_ms ? 0 : Math.max(0, clock_target_ms - clock_offset_ms)
}
