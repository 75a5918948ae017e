import type * as Operation from "../calls/Operation.ts"
import type { operations } from "../operations.ts"

/** One of the operations. */
export type AnyOperation = (typeof operations)[number]
/** The operation of this name. */
export type OperationNamed<Name extends AnyOperation["name"]> = Extract<AnyOperation, { readonly name: Name }>

/** The input of an operation, as in `InputOf<"start_quote_request">`. */
export type InputOf<Name extends AnyOperation["name"]> =
  OperationNamed<Name> extends Operation.Operation<string, infer Input, unknown, unknown> ? Input : never

/** The answer of an operation, as in `AnswerOf<"get_quote_request">`. */
export type AnswerOf<Name extends AnyOperation["name"]> =
  OperationNamed<Name> extends Operation.Operation<string, unknown, infer Answer, unknown> ? Answer : never

/** Options of a call besides its input. */
export interface CallOptions {
  readonly read_handle?: string
  readonly idempotency_key?: string
  /** Aborts the call, also while it waits. */
  readonly signal?: AbortSignal
}

/**
 * Every operation as a method, called with one API key.
 *
 * A refused call rejects with an `ApiError`: `code` names the refusal, `field_errors` and `retry_action` say what to do.
 * An aborted call rejects with the signal's reason.
 */
export type Client = {
  readonly [Name in AnyOperation["name"]]: (input: InputOf<Name>, options?: CallOptions) => Promise<AnswerOf<Name>>
}
