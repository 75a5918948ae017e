import type * as Operation from "../calls/Operation.ts"
import type { EventPage } from "../events/EventPage.ts"
import type { Line } from "../lines/Line.ts"
import type { StandardLine } from "../lines/standard.ts"
import type { AnyOperation, InputOf, KeyedOperation, OperationNamed, StartOf, Unbranded } from "./inputs.ts"

export type { AnyOperation, InputOf } from "./inputs.ts"

/** The result of an operation's method, as in `AnswerOf<"get_quote_request">`. */
export type AnswerOf<Name extends AnyOperation["name"]> = Name extends "list_events"
  ? Unbranded<EventPage>
  : OperationNamed<Name> extends Operation.Operation<string, unknown, infer Answer, unknown>
    ? Answer
    : never

/** Options for a call, besides its input. */
export interface CallOptions {
  /** The read handle that the start returned. Reads and cancellations with a widget or platform key need it. */
  readonly read_handle?: string | undefined
  /** The idempotency key. A retry with the same key and input gets the first answer. */
  readonly idempotency_key?: string | undefined
  /** Aborts the call, including its waiting time. */
  readonly signal?: AbortSignal | undefined
}

/** Options for a call that changes something and can be retried safely. The idempotency key is required. */
export interface KeyedCallOptions extends CallOptions {
  readonly idempotency_key: string
}

/** The operations as methods. Each method has its operation's name. */
export type OperationMethods<OwnLine extends Line = StandardLine> = {
  readonly [Name in AnyOperation["name"]]: Name extends "start_quote_request"
    ? StartMethod<OwnLine>
    : Name extends KeyedOperation
      ? (input: InputOf<Name, OwnLine>, options: KeyedCallOptions) => Promise<AnswerOf<Name>>
      : (input: InputOf<Name, OwnLine>, options?: CallOptions) => Promise<AnswerOf<Name>>
}

/** Starts a quote request. The compiler infers the line first, so that a type error about a fact names that fact. */
export type StartMethod<OwnLine extends Line> = <const Name extends OwnLine["name"]>(
  input: { readonly line: Name } & StartOf<OwnLine, Name>,
  options?: CallOptions
) => Promise<AnswerOf<"start_quote_request">>

/** Options for `wait_for_quotes`. */
export interface WaitOptions {
  /**
   * Ends the wait early if it returns true, such as `({ quotes }) => quotes.length > 0`. It is called once for each
   * change.
   */
  readonly until?: ((answer: AnswerOf<"get_quote_request">) => boolean) | undefined
  /** How long to wait, in milliseconds: 120,000 by default, a day at most. */
  readonly timeout_ms?: number | undefined
  /** Aborts the wait. */
  readonly signal?: AbortSignal | undefined
  /** The read handle that the start returned, for widget and platform keys. */
  readonly read_handle?: string | undefined
}

/** Options for `events`. */
export interface EventsOptions {
  /**
   * Where the feed starts: the `cursor` of an earlier feed, or a `next_cursor` of `list_events`. By default it starts
   * at the oldest event.
   */
  readonly after?: string | null | undefined
  /** How many events one call reads: from 1 to 100; 100 by default. */
  readonly limit?: number | undefined
  /**
   * How long to wait before looking for new events, in milliseconds: 1,000 by default, at least 1 and at most an hour.
   * As long as there are no new events, the wait doubles, up to ten times `poll_ms`.
   */
  readonly poll_ms?: number | undefined
  /** Ends the feed, even while it waits for events. */
  readonly signal?: AbortSignal | undefined
}

/**
 * The events of a workspace, oldest first, for a `for await` loop. After the last event, the loop waits for new events.
 *
 * A second loop over the same feed continues at the feed's `cursor`.
 */
export interface EventFeed extends AsyncIterable<AnswerOf<"list_events">["events"][number]> {
  /**
   * Where to resume once you have handled the last event that you received. Store it, and pass it as `after` the next
   * time. Null means the oldest event.
   *
   * The cursor moves only with the last event on a page. After a restart, you can therefore receive events from one
   * page again: skip those whose `id` you have already handled. With `limit: 1`, the cursor moves with every event.
   */
  readonly cursor: string | null
}

/**
 * All operations as methods that use one API key. `embed` and `connect` return such clients.
 *
 * A refused call rejects with an error that `isApiError` recognizes. Its `code` says why the call was refused;
 * `field_errors` and `retry_action` say what to do. An aborted call rejects with the signal's reason.
 *
 * `OwnLine` is the union of the lines for which requests can be started; by default the standard lines.
 */
export interface Client<OwnLine extends Line = StandardLine> extends OperationMethods<OwnLine> {
  /**
   * Waits for a request's quotes, and resolves with the request and its quotes.
   *
   * It resolves once the request is no longer `in_progress`: it is `completed`, `failed`, or `action_required` because
   * a person must act first. It also resolves when `until` returns true, and at `timeout_ms` with the state at that
   * time, so check `quote_request.status`. Temporary errors are retried. It rejects with any other error, and with the
   * last temporary error if no read has succeeded before the time is up.
   */
  readonly wait_for_quotes: (id: string, options?: WaitOptions) => Promise<AnswerOf<"get_quote_request">>
  /**
   * Reads the event feed, for a `for await` loop. When the signal is aborted, the loop ends without an error.
   *
   * Temporary errors are retried; other errors are thrown. `event_cursor_expired` means that events after the cursor
   * were already erased: read each resource that you track, then start again without `after`.
   */
  readonly events: (options?: EventsOptions) => EventFeed
}

/** The client that `connect` returns. If you pass no idempotency key, it generates one. */
export type RemoteClient<OwnLine extends Line = StandardLine> = Omit<Client<OwnLine>, KeyedOperation> & {
  readonly [Name in KeyedOperation]: (input: InputOf<Name, OwnLine>, options?: CallOptions) => Promise<AnswerOf<Name>>
}
