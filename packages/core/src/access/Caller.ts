import { Schema } from "effect"
import type { KeyId, OrganizationId, WorkspaceId } from "../wire/Ids.ts"
import type { SharedId } from "./PartnerLink.ts"

/** The two environments. A key's prefix selects one of them (api.md, API keys). */
export const Environment = Schema.Literals(["sandbox", "live"])
export type Environment = typeof Environment.Type

/** The kinds of API key (api.md, API keys). */
export const KeyKind = Schema.Literals(["server", "widget", "platform"])
export type KeyKind = typeof KeyKind.Type

/** The kinds of caller: the three kinds of key, `keyless`, and `link` for the holder of a partner link. */
export const CallerKind = Schema.Literals([...KeyKind.literals, "keyless", "link"])
export type CallerKind = typeof CallerKind.Type

/** The authenticated caller of an operation. */
export interface Caller {
  readonly kind: CallerKind
  readonly environment: Environment
  readonly organization_id: OrganizationId
  readonly workspace_id: WorkspaceId
  /**
   * The key's ID; null for a keyless caller and for a link. For a caller with a token, a hash of the organization and
   * the token's subject.
   */
  readonly key_id: KeyId | null
  /** The read handle that was sent with this call; null if no read handle was sent. */
  readonly read_handle: string | null
  /** The only resource that a partner link can read; absent for all other callers. */
  readonly shared_id?: SharedId
}

/** What an OAuth issuer's token grants. The host has already verified the token. */
export interface Grant extends Pick<Caller, "environment" | "organization_id"> {
  readonly kind: KeyKind
  /** Identifies the person or program to whom the token was issued. Only a hash of the subject is stored. */
  readonly subject: string
}
