import type { OperatorTokenId, OrganizationId } from "../wire/Ids.ts"
import type { OperatorScope } from "./OperatorToken.ts"

/** The authenticated operator of a call. */
export interface Operator {
  /** The id of the token; for a token of an OAuth issuer, a hash of its issuer and subject in the same form. */
  readonly token_id: OperatorTokenId
  /** The name of the token, for the audit log. */
  readonly name: string
  readonly scopes: ReadonlyArray<OperatorScope>
  /** The only organization that the operator reaches; null for all organizations. */
  readonly organization_id: OrganizationId | null
}
