import type { Unbranded } from "../client/inputs.ts"
import type { OperatorOperation } from "../operators/OperatorOperation.ts"
import type { OperatorScope, OperatorToken } from "../operators/OperatorToken.ts"
import type { operatorOperations } from "../operators/operatorOperations.ts"
import type { Timestamp } from "../wire/Timestamp.ts"

/** Any of the operations for operators. */
export type AnyOperatorOperation = (typeof operatorOperations)[number]

type InputOf<Operation> =
  Operation extends OperatorOperation<string, unknown, unknown, infer Input> ? Unbranded<Input> : never
type OutputOf<Operation> = Operation extends OperatorOperation<string, infer Output, unknown, unknown> ? Output : never

/** Every operation for operators as a method. A refusal rejects with an `ApiError`. */
export type OperatorMethods = {
  readonly [Operation in AnyOperatorOperation as Operation["name"]]: (
    ...input: Record<never, never> extends InputOf<Operation>
      ? [input?: InputOf<Operation>]
      : [input: InputOf<Operation>]
  ) => Promise<OutputOf<Operation>>
}

/** The metadata of a token, never the token itself. */
export interface EmbeddedOperatorToken extends Omit<OperatorToken, "created_at" | "expires_at" | "revoked_at"> {
  readonly created_at: Timestamp
  readonly expires_at: Timestamp
  readonly revoked_at: Timestamp | null
}

/** Options of a new token. */
export interface OperatorTokenOptions {
  /** Who or what uses the token: 1 to 100 characters. The audit log shows it. */
  readonly name: string
  readonly scopes: ReadonlyArray<OperatorScope>
  /** The only organization that the token reaches; by default all organizations. */
  readonly organization_id?: string
  /** How many days the token is valid: 1 to 365; 90 by default. */
  readonly expires_in_days?: number
}

/** Who acts, as the audit log shows it, and what they may do. */
export interface ActingOperator {
  /** The name of the person or program: 1 to 100 characters. */
  readonly name: string
  /** What the operator may do; by default all scopes, because your program is trusted. */
  readonly scopes?: ReadonlyArray<OperatorScope>
  /** The only organization that the operator reaches; by default all organizations. */
  readonly organization_id?: string
}

/** The methods for operators inside a program. */
export interface Operators {
  /** Creates a token for a host's operators' API, and returns it. It cannot be shown again. */
  readonly createToken: (
    options: OperatorTokenOptions
  ) => Promise<{ readonly token: string; readonly details: EmbeddedOperatorToken }>
  /** Lists the tokens, oldest first, including expired and revoked ones. */
  readonly listTokens: () => Promise<ReadonlyArray<EmbeddedOperatorToken>>
  /** Revokes a token. Every host refuses its next call. */
  readonly revokeToken: (token_id: string) => Promise<EmbeddedOperatorToken>
  /** Every operation for operators, on behalf of a person or program that you name. Each call is in the audit log. */
  readonly as: (operator: ActingOperator) => OperatorMethods
}
