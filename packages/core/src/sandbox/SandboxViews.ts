import { Schema } from "effect"
import { timeOf, type Workspace } from "../access/Workspaces.ts"
import { catalogue, Scenario } from "../carriers/Scenario.ts"
import { OrganizationId, ReplayId } from "../wire/Ids.ts"
import { fromMillis, Timestamp } from "../wire/Timestamp.ts"
import { NextDue } from "./NextDue.ts"

/** A sandbox workspace as its owner sees it (api.md, Sandbox workspace). */
export const SandboxWorkspace = Schema.Struct({
  partner_id: OrganizationId.annotateKey({ description: "The organization" }),
  environment: Schema.Literal("sandbox").annotateKey({ description: "Always `sandbox`" }),
  active_scenario: Schema.NullOr(Schema.String).annotateKey({
    description: "The scenario that new requests play; null if none is selected"
  }),
  clock_offset_seconds: Schema.Int.annotateKey({
    description: "How far the sandbox's clock is ahead of real time, in seconds"
  }),
  workspace_time: Timestamp.annotateKey({ description: "The time on the sandbox's clock" }),
  quotes_expired_at: Schema.NullOr(Timestamp).annotateKey({
    description: "When all quotes were last forced to expire; null if never"
  }),
  reset_count: Schema.Int.annotateKey({ description: "How often it was reset" }),
  next_due: Schema.NullOr(NextDue).annotateKey({
    description: "The next thing that happens as the clock advances; null if nothing is due"
  }),
  scenario_catalog_version: Schema.String.annotateKey({ description: "The version of the list of scenarios" })
}).annotate({ identifier: "SandboxWorkspace" })
export type SandboxWorkspace = typeof SandboxWorkspace.Type

/** The controls of a sandbox. */
export const controls = ["select_scenario", "advance_time", "force_expiry", "replay_events", "reset"] as const
export type Control = (typeof controls)[number]

/** The result of using a control (api.md, Control results). */
export const ControlResult = Schema.Struct({
  control: Schema.Literals(controls).annotateKey({ description: "The control that was used" }),
  workspace: SandboxWorkspace.annotateKey({ description: "The sandbox afterwards" }),
  replay: Schema.NullOr(
    Schema.Struct({
      id: ReplayId.annotateKey({ description: "The identifier of the replay" }),
      scenarioCode: Schema.String.annotateKey({ description: "How the events were sent again" }),
      notice: Schema.String.annotateKey({ description: "What a receiver sees, as a sentence" }),
      recovery: Schema.NullOr(Schema.String).annotateKey({
        description: "What a receiver should do about it; null if nothing"
      }),
      deliveries: Schema.Int.annotateKey({ description: "How many deliveries were made" })
    })
  ).annotateKey({ description: "The replay of events; null for other controls" }),
  removed: Schema.NullOr(Schema.Record(Schema.String, Schema.Int)).annotateKey({
    description: "How many records of each kind a reset removed; null for other controls"
  })
}).annotate({ identifier: "ControlResult" })
export type ControlResult = typeof ControlResult.Type

/** The scenarios that a sandbox can play. */
export const ScenarioList = Schema.Struct({
  scenarios: Schema.Array(Scenario).annotateKey({ description: "The scenarios" }),
  scenario_catalog_version: Schema.String.annotateKey({ description: "The version of the list" })
})
export type ScenarioList = typeof ScenarioList.Type

/** A workspace as its owner sees it at a moment of real time, in milliseconds. */
export const viewOf = (workspace: Workspace, realNow: number, next_due: NextDue | null): SandboxWorkspace => ({
  partner_id: workspace.organization_id,
  environment: "sandbox",
  active_scenario: workspace.active_scenario,
  clock_offset_seconds: Math.floor(workspace.clock_offset_ms / 1_000),
  workspace_time: fromMillis(timeOf(workspace, realNow)),
  quotes_expired_at: workspace.quotes_expired_at === null ? null : fromMillis(workspace.quotes_expired_at),
  reset_count: workspace.reset_count,
  next_due,
  scenario_catalog_version: catalogue.scenario_catalog_version
})
