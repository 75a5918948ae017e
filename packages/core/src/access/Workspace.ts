import { Schema } from "effect"
import * as Kind from "../storage/Kind.ts"
import { OrganizationId, WorkspaceId } from "../wire/Ids.ts"
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
  active_scenario: null,
  quotes_expired_at: null,
  reset_count: 0,
  erased_count: 0
})

/** Workspace time at a moment of real time; both in milliseconds. */
export const timeOf = (workspace: Workspace, real_now: number): number => real_now + workspace.clock_offset_ms

/** A workspace whose clock is to be advanced: advances at once add up, and none is lost. */
export const advancing = (workspace: Workspace, seconds: number): Workspace => ({
  ...workspace,
  clock_target_ms: workspace.clock_target_ms + seconds * 1_000
})
