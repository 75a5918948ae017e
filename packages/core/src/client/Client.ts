import type * as Operation from "../calls/Operation.ts"
import type { EventPage } from "../events/EventPage.ts"
import type { Line } from "../lines/Line.ts"
import type { StandardLine } from "../lines/standard.ts"
import type { AnyOperation, InputOf, OperationNamed, StartOf, Unbranded } from "./inputs.ts"

export type { AnyOperation, InputOf } from "./inputs.ts"

/** The result of an operation's method, as in `AnswerOf<"get_quote_request">`. */
export type AnswerOf<Name extends AnyOperation["name"]> = Name extends "list_events"
  ? Unbranded<EventPage>
  : OperationNamed<Name> extends Operation.Operation<string, unknown, infer Answer, unknown>
    ? Answer
    : never

/** Options for a call, besides its input. */
export interface CallOptions {
  /**
   * The read handle that `start_quote_request` returned. Reads and cancellations with a widget or platform key need it.
   */
  readonly read_handle?: string | undefined
  /**
   * Identifies the call: a repeat with the same key and input gets the first response. By default the client generates
   * a new key for each call, so pass your own key if your program may repeat the call.
   */
  readonly idempotency_key?: string | undefined
  /** Aborts the call, including its waiting time. */
  readonly signal?: AbortSignal | undefined
}

/** Options for a call in a program that always passes an idempotency key. */
export interface KeyedCallOptions extends CallOptions {
  readonly idempotency_key: string
}

/** A method that calls the operation with this name. */
type Method<Name extends AnyOperation["name"]> = (
  input: InputOf<Name>,
  options?: CallOptions
) => Promise<AnswerOf<Name>>

/** The operations as methods. Each method has its operation's name. */
// The build writes each operation's description above its method (`scripts/fieldComments.ts`), so that editors show it.
export type OperationMethods<OwnLine extends Line = StandardLine> = {
  readonly get_capabilities: Method<"get_capabilities">
  readonly start_quote_request: StartMethod<OwnLine>
  readonly get_quote_request: Method<"get_quote_request">
  readonly list_quote_requests: Method<"list_quote_requests">
  readonly get_quote_request_timeline: Method<"get_quote_request_timeline">
  readonly cancel_quote_request: Method<"cancel_quote_request">
  readonly create_partner_link: Method<"create_partner_link">
  readonly get_quote: Method<"get_quote">
  readonly preview_revisions: Method<"preview_revisions">
  readonly list_events: Method<"list_events">
  readonly create_event_subscription: Method<"create_event_subscription">
  readonly list_event_subscriptions: Method<"list_event_subscriptions">
  readonly update_event_subscription: Method<"update_event_subscription">
  readonly disable_event_subscription: Method<"disable_event_subscription">
  readonly rotate_event_subscription_secret: Method<"rotate_event_subscription_secret">
  readonly send_test_event: Method<"send_test_event">
  readonly list_event_deliveries: Method<"list_event_deliveries">
  readonly get_event_delivery: Method<"get_event_delivery">
  readonly replay_event_delivery: Method<"replay_event_delivery">
  readonly get_event_subscription_health: Method<"get_event_subscription_health">
  readonly preview_event_recovery: Method<"preview_event_recovery">
  readonly start_event_recovery: Method<"start_event_recovery">
  readonly list_event_recoveries: Method<"list_event_recoveries">
  readonly change_event_recovery: Method<"change_event_recovery">
  readonly list_api_requests: Method<"list_api_requests">
  readonly get_api_request: Method<"get_api_request">
  readonly send_feedback: Method<"send_feedback">
  readonly get_feedback: Method<"get_feedback">
  readonly get_sandbox: Method<"get_sandbox">
  readonly list_sandbox_scenarios: Method<"list_sandbox_scenarios">
  readonly select_scenario: Method<"select_scenario">
  readonly advance_time: Method<"advance_time">
  readonly force_expiry: Method<"force_expiry">
  readonly replay_events: Method<"replay_events">
  readonly reset_sandbox: Method<"reset_sandbox">
}

/** Starts a quote request. The compiler infers the line first, so that a type error about a fact names that fact. */
export type StartMethod<OwnLine extends Line> = <const Name extends OwnLine["name"]>(
  input: { readonly line: Name } & StartOf<OwnLine, Name>,
  options?: CallOptions
) => Promise<AnswerOf<"start_quote_request">>

/** Options for `wait_for_quotes`. */
export interface WaitOptions {
  /**
   * Ends the wait early if this function returns true, such as `({ quotes }) => quotes.length > 0`. The function is
   * called with the first response, and then once for each change.
   */
  readonly until?: ((answer: AnswerOf<"get_quote_request">) => boolean) | undefined
  /** How long to wait, in milliseconds: 120,000 by default, a day at most. */
  readonly timeout_ms?: number | undefined
  /** Aborts the wait. */
  readonly signal?: AbortSignal | undefined
  /** The read handle that `start_quote_request` returned, for widget and platform keys. */
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
   * page again: skip events whose `id` you have already handled. With `limit: 1`, the cursor moves with every event.
   */
  readonly cursor: string | null
}

/**
 * All operations as methods that use one API key. `embed` and `connect` return such clients, so the same code works with
 * both.
 *
 * A refused call rejects with an error that `isApiError` recognizes. Its `code` says why the call was refused;
 * `field_errors` and `retry_action` say what to do. An aborted call rejects with the signal's reason.
 *
 * `OwnLine` is the union of the lines for which requests can be started; by default the standard lines.
 *
 * @example
 * const { id } = await client.start_quote_request({ line, request_key, consent_receipt_id, application })
 * const { quote_request, quotes } = await client.wait_for_quotes(id)
 */
export interface Client<OwnLine extends Line = StandardLine> extends OperationMethods<OwnLine> {
  /**
   * Waits for a request's quotes, and resolves with the request and its quotes.
   *
   * It resolves once the request is no longer `in_progress`: it is `completed`, `failed`, or `action_required` because
   * a person must act first. It also resolves when `until` returns true, and at `timeout_ms` with the state at that
   * time, so check `quote_request.status`. Temporary errors are retried. It rejects with any other error, and with the
   * last temporary error if no read has succeeded before the time is up.
   *
   * @example
   * const { quotes } = await client.wait_for_quotes(id, { until: ({ quotes }) => quotes.length > 0 })
   */
  readonly wait_for_quotes: (id: string, options?: WaitOptions) => Promise<AnswerOf<"get_quote_request">>
  /**
   * Reads the event feed, for a `for await` loop. When the signal is aborted, the loop ends without an error.
   *
   * Temporary errors are retried; other errors are thrown. `event_cursor_expired` means that events after the cursor
   * were already erased: read each resource that you track, then start again without `after`.
   *
   * @example
   * const feed = client.events({ after: saved })
   * for await (const event of feed) {
   *   await handle(event)
   *   saved = feed.cursor
   * }
   */
  readonly events: (options?: EventsOptions) => EventFeed
}

/** The client that `connect` returns: the same type as `Client`. */
export type RemoteClient<OwnLine extends Line = StandardLine> = Client<OwnLine>
