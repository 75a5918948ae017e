import type { OrganizationId, WorkspaceId } from "../wire/Ids.ts"
import type { Environment } from "./Caller.ts"

/** An organization: one partner, with a workspace in each environment. */
export interface Organization {
  readonly id: OrganizationId
  readonly name: string
  readonly created_at: number
  readonly workspaces: { readonly [E in Environment]: WorkspaceId }
}
