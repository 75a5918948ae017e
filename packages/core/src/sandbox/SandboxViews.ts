import { Schema } from "effect"
import { timeOf, type Workspace } from "../access/Workspaces.ts"
import { catalogue, Scenario } from "../carriers/Scenario.ts"
import { OrganizationId, ReplayId } from "../wire/Ids.ts"
import { fromMillis, Timestamp } from "../wire/Timestamp.ts"

/** A sandbox workspace as its owner sees it (api.md, Sandbox workspace). */
export const SandboxWorkspace = Schema.Struct({
  partner_id: OrganizationId,
  environment: Schema.Literal("sandbox"),
  active_scenario: Schema.NullOr(Schema.String),
  clock_offset_seconds: Schema.Int,
  workspace_time: Timestamp,
  quotes_expired_at: Schema.NullOr(Timestamp),
  reset_count: Schema.Int,
  scenario_catalog_version: Schema.String
}).annotate({ identifier: "SandboxWorkspace" })
export type SandboxWorkspace = typeof SandboxWorkspace.Type

/** The controls of a sandbox. */
export const controls = ["select_scenario", "advance_time", "force_expiry", "replay_events", "reset"] as const
export type Control = (typeof controls)[number]

/** What a control did (api.md, Control results). */
export const ControlResult = Schema.Struct({
  control: Schema.Literals(controls),
  workspace: SandboxWorkspace,
  replay: Schema.NullOr(
    Schema.Struct({
      id: ReplayId,
      scenarioCode: Schema.String,
      notice: Schema.String,
      recovery: Schema.NullOr(Schema.String),
      deliveries: Schema.Int
    })
  ),
  removed: Schema.NullOr(Schema.Record(Schema.String, Schema.Int))
}).annotate({ identifier: "ControlResult" })
export type ControlResult = typeof ControlResult.Type

/** The scenarios that a sandbox can play. */
export const ScenarioList = Schema.Struct({
  scenarios: Schema.Array(Scenario),
  scenario_catalog_version: Schema.String
})
export type ScenarioList = typeof ScenarioList.Type

/** A workspace's view at a moment of real time, in milliseconds. */
export const viewOf = (workspace: Workspace, realNow: number): SandboxWorkspace => ({
  partner_id: workspace.organization_id,
  environment: "sandbox",
  active_scenario: workspace.active_scenario,
  clock_offset_seconds: Math.floor(workspace.clock_offset_ms / 1_000),
  workspace_time: fromMillis(timeOf(workspace, realNow)),
  quotes_expired_at: workspace.quotes_expired_at === null ? null : fromMillis(workspace.quotes_expired_at),
  reset_count: workspace.reset_count,
  scenario_catalog_version: catalogue.scenario_catalog_version
})
