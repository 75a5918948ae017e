import { Schema } from "effect"
import * as Kind from "../storage/Kind.ts"
import { OrganizationId, WorkspaceId } from "../wire/Ids.ts"

/** An organization: one partner, with a workspace in each environment. */
export const Organization = Schema.Struct({
  id: OrganizationId,
  name: Schema.String,
  created_at: Schema.Int.annotate({ description: "Milliseconds of real time" }),
  workspaces: Schema.Struct({ sandbox: WorkspaceId, live: WorkspaceId })
})
export type Organization = typeof Organization.Type

/** Organizations in storage, by id. */
export const kind = Kind.make({ name: "organization", schema: Organization, survives_reset: true })
