import { Schema } from "effect"
import type { KeyId, OrganizationId, WorkspaceId } from "../wire/Ids.ts"

/** The two environments. The prefix of a key selects one (api.md, Authentication 1). */
export const Environment = Schema.Literals(["sandbox", "live"])
export type Environment = typeof Environment.Type

/** The kinds of API key (api.md, Authentication 4). */
export const KeyKind = Schema.Literals(["server", "widget", "platform"])
export type KeyKind = typeof KeyKind.Type

/** The kinds of caller: the three kinds of key, and `keyless`. */
export const CallerKind = Schema.Literals([...KeyKind.literals, "keyless"])
export type CallerKind = typeof CallerKind.Type

/** The authenticated caller of an operation. */
export interface Caller {
  readonly kind: CallerKind
  readonly environment: Environment
  readonly organization_id: OrganizationId
  readonly workspace_id: WorkspaceId
  /** Null for a keyless caller. */
  readonly key_id: KeyId | null
  /** The read handle of this call, if any. */
  readonly read_handle: string | null
}
