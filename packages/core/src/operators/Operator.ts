import type { OperatorTokenId, OrganizationId } from "../wire/Ids.ts"
import type { OperatorScope } from "./OperatorToken.ts"

/** The authenticated operator who makes a call. */
export interface Operator {
  /**
   * The token's ID. For a token from an OAuth issuer, a hash of the issuer and the subject, in the format of a token
   * ID.
   */
  readonly token_id: OperatorTokenId
  /** The token's name, for the audit log. */
  readonly name: string
  readonly scopes: ReadonlyArray<OperatorScope>
  /** The only organization that the operator can access; null for all organizations. */
  readonly organization_id: OrganizationId | null
}
