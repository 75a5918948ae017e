import type { Unbranded } from "../client/inputs.ts"
import type { OperatorOperation } from "../operators/OperatorOperation.ts"
import type { OperatorScope, OperatorToken } from "../operators/OperatorToken.ts"
import type { operatorOperations } from "../operators/operatorOperations.ts"
import type { Timestamp } from "../wire/Timestamp.ts"

/** Any operator's operation. */
export type AnyOperatorOperation = (typeof operatorOperations)[number]

type InputOf<Operation> =
  Operation extends OperatorOperation<string, unknown, unknown, infer Input> ? Unbranded<Input> : never
type OutputOf<Operation> = Operation extends OperatorOperation<string, infer Output, unknown, unknown> ? Output : never

type Call<Operation> = (
  ...input: Record<never, never> extends InputOf<Operation> ? [input?: InputOf<Operation>] : [input: InputOf<Operation>]
) => Promise<OutputOf<Operation>>

/** A method that calls the operators' operation with this name. */
type Method<Name extends AnyOperatorOperation["name"]> = Call<Extract<AnyOperatorOperation, { readonly name: Name }>>

/** All operators' operations as methods. A refused call rejects with an `ApiError`. */
// The build writes each operation's description above its method (`scripts/fieldComments.ts`), so that editors show it.
export type OperatorMethods = {
  readonly list_organizations: Method<"list_organizations">
  readonly create_organization: Method<"create_organization">
  readonly list_keys: Method<"list_keys">
  readonly create_key: Method<"create_key">
  readonly revoke_key: Method<"revoke_key">
  readonly find_quote_requests: Method<"find_quote_requests">
  readonly get_quote_request_timeline: Method<"get_quote_request_timeline">
  readonly read_quote_request_exchanges: Method<"read_quote_request_exchanges">
  readonly erase_quote_request: Method<"erase_quote_request">
  readonly erase_receipt: Method<"erase_receipt">
  readonly get_carrier_status: Method<"get_carrier_status">
  readonly reset_carrier: Method<"reset_carrier">
  readonly list_connections: Method<"list_connections">
  readonly set_connection: Method<"set_connection">
  readonly test_connection: Method<"test_connection">
  readonly remove_connection: Method<"remove_connection">
  readonly list_consumers: Method<"list_consumers">
  readonly list_parked_events: Method<"list_parked_events">
  readonly retry_parked_event: Method<"retry_parked_event">
  readonly drop_parked_event: Method<"drop_parked_event">
  readonly preview_recovery: Method<"preview_recovery">
  readonly start_recovery: Method<"start_recovery">
  readonly list_recoveries: Method<"list_recoveries">
  readonly change_recovery: Method<"change_recovery">
  readonly create_partner_link: Method<"create_partner_link">
  readonly get_work: Method<"get_work">
  readonly list_audit_log: Method<"list_audit_log">
}

/** A token's metadata, never the token itself. */
export interface EmbeddedOperatorToken extends Omit<OperatorToken, "created_at" | "expires_at" | "revoked_at"> {
  readonly created_at: Timestamp
  readonly expires_at: Timestamp
  readonly revoked_at: Timestamp | null
}

/** Options for a new token. */
export interface OperatorTokenOptions {
  /** Who or what uses the token: 1 to 100 characters. The audit log shows it. */
  readonly name: string
  readonly scopes: ReadonlyArray<OperatorScope>
  /** The only organization that the token can access; by default all organizations. */
  readonly organization_id?: string
  /** How many days the token is valid: from 1 to 365; 90 by default. */
  readonly expires_in_days?: number
}

/** Who acts, as shown in the audit log, and what this operator may do. */
export interface ActingOperator {
  /** The name of the person or program: 1 to 100 characters. */
  readonly name: string
  /** What the operator may do; by default all scopes, because your program is trusted. */
  readonly scopes?: ReadonlyArray<OperatorScope>
  /** The only organization that the operator can access; by default all organizations. */
  readonly organization_id?: string
}

/** The operators' methods of an embedded service. */
export interface Operators {
  /** Creates a token for a host's operators' API, and returns it. The token cannot be shown again. */
  readonly createToken: (
    options: OperatorTokenOptions
  ) => Promise<{ readonly token: string; readonly details: EmbeddedOperatorToken }>
  /** Lists the tokens, oldest first, including expired and revoked tokens. */
  readonly listTokens: () => Promise<ReadonlyArray<EmbeddedOperatorToken>>
  /** Revokes a token. Every host refuses the next call with the token. */
  readonly revokeToken: (token_id: string) => Promise<EmbeddedOperatorToken>
  /**
   * Returns all operators' operations as methods, on behalf of the person or program that you name. Each call is
   * recorded in the audit log.
   */
  readonly as: (operator: ActingOperator) => OperatorMethods
}
