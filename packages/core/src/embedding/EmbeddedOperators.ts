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

/** All operators' operations as methods. A refused call rejects with an `ApiError`. */
export type OperatorMethods = {
  readonly [Operation in AnyOperatorOperation as Operation["name"]]: (
    ...input: Record<never, never> extends InputOf<Operation>
      ? [input?: InputOf<Operation>]
      : [input: InputOf<Operation>]
  ) => Promise<OutputOf<Operation>>
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
  /** Creates a token for a host's operators' API, and returns it. It cannot be shown again. */
  readonly createToken: (
    options: OperatorTokenOptions
  ) => Promise<{ readonly token: string; readonly details: EmbeddedOperatorToken }>
  /** Lists the tokens, oldest first, including expired and revoked ones. */
  readonly listTokens: () => Promise<ReadonlyArray<EmbeddedOperatorToken>>
  /** Revokes a token. Every host refuses the next call with it. */
  readonly revokeToken: (token_id: string) => Promise<EmbeddedOperatorToken>
  /**
   * Returns all operators' operations as methods, on behalf of the person or program that you name. Each call is
   * recorded in the audit log.
   */
  readonly as: (operator: ActingOperator) => OperatorMethods
}
