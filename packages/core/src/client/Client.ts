import type * as Operation from "../calls/Operation.ts"
import type { EventPage } from "../events/EventPage.ts"
import type { Line } from "../lines/Line.ts"
import type { StandardLine } from "../lines/standard.ts"
import type { AnyOperation, Given, InputOf, KeyedOperation, OperationNamed } from "./inputs.ts"

export type { AnyOperation, InputOf } from "./inputs.ts"

/** The answer of an operation, as in `AnswerOf<"get_quote_request">`. */
export type AnswerOf<Name extends AnyOperation["name"]> = Name extends "list_events"
  ? Given<EventPage>
  : OperationNamed<Name> extends Operation.Operation<string, unknown, infer Answer, unknown>
    ? Answer
    : never

/** Options of a call besides its input. */
export interface CallOptions {
  /** The handle that the start returned: reads and cancellations with a widget or platform key need it. */
  readonly read_handle?: string | undefined
  /** A repeat with the same key and input gets the first answer. */
  readonly idempotency_key?: string | undefined
  /** Aborts the call, also while it waits. */
  readonly signal?: AbortSignal | undefined
}

/** Options of a call that changes something and can be repeated: the key is required. */
export interface KeyedCallOptions extends CallOptions {
  readonly idempotency_key: string
}

/**
 * Every operation as a method, called with one API key.
 *
 * A refused call rejects with an error that `isApiError` recognizes: `code` names the refusal, `field_errors` and
 * `retry_action` say what to do. An aborted call rejects with the signal's reason.
 *
 * `OwnLine` are the lines that can be started; by default the standard lines.
 */
export type Client<OwnLine extends Line = StandardLine> = OperationMethods<OwnLine>

/** The operations as methods, by their names. */
export type OperationMethods<OwnLine extends Line = StandardLine> = {
  readonly [Name in AnyOperation["name"]]: Name extends KeyedOperation
    ? (input: InputOf<Name, OwnLine>, options: KeyedCallOptions) => Promise<AnswerOf<Name>>
    : (input: InputOf<Name, OwnLine>, options?: CallOptions) => Promise<AnswerOf<Name>>
}
