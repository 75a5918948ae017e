import { Schema } from "effect"
import type { KeyId, OrganizationId, WorkspaceId } from "../wire/Ids.ts"

/** The two environments; a key's prefix selects one (api.md, Authentication 1). */
export const Environment = Schema.Literals(["sandbox", "live"])
export type Environment = typeof Environment.Type

/** The kinds of API key (api.md, Authentication 4). */
export const KeyKind = Schema.Literals(["server", "widget", "platform"])
export type KeyKind = typeof KeyKind.Type

/** The kinds of caller: the three kinds of key, and callers without one. */
export const CallerKind = Schema.Literals([...KeyKind.literals, "keyless"])
export type CallerKind = typeof CallerKind.Type

/** Who calls: what the pipeline has made sure of before an operation runs. */
export interface Caller {
  readonly kind: CallerKind
  readonly environment: Environment
  readonly organization_id: OrganizationId
  readonly workspace_id: WorkspaceId
  /** Null for a keyless caller. */
  readonly key_id: KeyId | null
  /** The read handle that was sent with this call, if any. */
  readonly read_handle: string | null
}
