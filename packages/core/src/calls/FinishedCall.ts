import { Cause, Context, Effect, Predicate, Schema } from "effect"
import { type Caller, Environment } from "../access/Caller.ts"
import * as Fault from "../concurrency/Fault.ts"
import type { StoredRecord } from "../storage/Change.ts"
import * as Kind from "../storage/Kind.ts"
import { aboutFields, aboutOf } from "../wire/AboutIds.ts"
import { codes, type ErrorCode } from "../wire/ApiError.ts"
import { KeyId, QuoteId, QuoteRequestId, RequestId } from "../wire/Ids.ts"
import { wholeNumber } from "../wire/Input.ts"
import type * as Json from "../wire/Json.ts"
import { pageFields } from "../wire/Pagination.ts"
import { plain } from "../wire/PlainText.ts"
import { fromMillis, OffsetDateTime, Timestamp } from "../wire/Timestamp.ts"

/* A finished call: the report that hosts receive, and the call's entry in the request log. */

/**
 * How a call reached the service, as reported by its host.
 *
 * It contains no bodies, keys, query strings or personal data: even the path is only a pattern.
 */
export interface Transport {
  /** The HTTP method, as sent. */
  readonly method: string
  /** The matched route pattern, in which `{id}` stands for each identifier; never the path that was sent. */
  readonly route: string
  /** The HTTP status if it is the same for every result; null if it depends on the call's result, as in REST. */
  readonly status: number | null
  /** The `User-Agent` header. */
  readonly user_agent: string | null
  /** The name by which a client of the agent endpoint identifies itself. */
  readonly client_name: string | null
  readonly client_version: string | null
}

/**
 * The kind of resource to which the input's `id` refers. An input without `id` creates a quote request, and the
 * response contains that request.
 */
export type About = "quote_request" | "quote"

/** The quote request and the quote that a call is about. */
export interface CallSubject {
  readonly quote_request_id: QuoteRequestId | null
  readonly quote_id: QuoteId | null
}

/** Finds the IDs that a call is about. Ignores text that is not formatted like an ID, so that it is never logged. */
export const subjectOf = (about: About, input: unknown, answer: Json.Json<unknown> | null): CallSubject => {
  const id = Predicate.hasProperty(input, "id") ? input.id : null
  if (about === "quote") return { quote_id: isQuoteId(id) ? id : null, quote_request_id: firstRequest(answer) }
  return { quote_id: null, quote_request_id: isQuoteRequestId(id) ? id : firstRequest(answer) }
}

const isQuoteId = Schema.is(QuoteId)
const isQuoteRequestId = Schema.is(QuoteRequestId)

/**
 * The first quote request ID in a response: the request's own ID, or the ID of the request to which a quote belongs.
 * The text is searched only if the response is not a quote that is in memory.
 */
const firstRequest = (answer: Json.Json<unknown> | null): QuoteRequestId | null => {
  if (answer === null) return null
  const id = Predicate.hasProperty(answer.value, "quote_request_id")
    ? answer.value.quote_request_id
    : /"(qreq_[^"]*)"/.exec(answer.text)?.[1]
  return isQuoteRequestId(id) ? id : null
}

/** A finished call, without a body, a key or anything about a person. */
export interface FinishedCall extends CallSubject {
  readonly request_id: RequestId
  /** When the request was received, in milliseconds of real time. */
  readonly created_at: number
  readonly duration_ms: number
  readonly caller: Caller
  /** The operation's name; null if the request matched no operation. */
  readonly operation: string | null
  readonly transport: Transport
  /** The HTTP status of the response. */
  readonly status: number
  /** The error code; null if the call succeeded. */
  readonly error_code: ErrorCode | null
}

/**
 * Receives each finished call whose key was valid, or whose keyless caller was admitted. Calls with a refused key are
 * not reported.
 *
 * The function must neither throw nor block. If it throws, or returns a promise that rejects, the service logs the
 * error, and the response stays the same. It does not wait for a promise.
 */
export const OnFinishedCall = Context.Reference<(call: FinishedCall) => void>("@quotewire/core/OnFinishedCall", {
  defaultValue: () => () => {}
})

/** Reports a call to `OnFinishedCall`. */
export const notify = (services: Context.Context<never>, call: FinishedCall): Effect.Effect<void> =>
  Fault.callHook(
    () => Context.get(services, OnFinishedCall)(call),
    (thrown) =>
      Effect.annotateLogs(Fault.log("OnFinishedCall failed", Cause.die(thrown)), { request_id: call.request_id })
  )

/** In the request log, what a client says about itself is truncated to this length (api.md, Fixed limits). */
export const maxTextCharacters = 200

const NullableText = Schema.NullOr(Schema.String)

const fields = {
  request_id: RequestId.annotateKey({
    description: "The identifier of the call, also in the response's `Request-Id` header"
  }),
  created_at: Timestamp.annotate({ description: "When the request was received" }),
  environment: Environment.annotateKey({ description: "The environment of the key" }),
  key_id: KeyId.annotate({ description: "The key's identifier, never the key" }),
  operation: NullableText.annotate({ description: "The operation; null if the request reached none" }),
  method: Schema.String.annotateKey({ description: "The HTTP method" }),
  route: Schema.String.annotate({
    description: "The matched path, with {id} in place of each ID; * if no path matched"
  }),
  status: Schema.Int.annotate({ description: "The HTTP status of the response" }),
  error_code: Schema.NullOr(Schema.Literals(codes)).annotateKey({
    description: "The error code of the response; null on success"
  }),
  duration_ms: Schema.Int.annotateKey({ description: "How long the call took, in milliseconds" }),
  quote_request_id: Schema.NullOr(QuoteRequestId).annotateKey({
    description: "The quote request that the call was about; null if none"
  }),
  quote_id: Schema.NullOr(QuoteId).annotateKey({ description: "The quote that the call was about; null if none" })
}

/** One API call by an organization (api.md, Request log entries), without a body, a key or anything about a person. */
export const RequestLogEntry = Schema.Struct(fields).annotate({ identifier: "RequestLogEntry" })
export type RequestLogEntry = typeof RequestLogEntry.Type

/** A log entry as listed, with the caller's description of its own program. */
export const ListedRequest = Schema.Struct({
  ...fields,
  agent: Schema.Struct({
    client_name: NullableText.annotate({
      description: "The client's name; only clients of the agent endpoint send one"
    }),
    client_version: NullableText.annotateKey({ description: "The version of the client" }),
    user_agent: NullableText.annotate({ description: "At most 200 characters" })
  }).annotateKey({ description: "What the caller said about its program" })
}).annotate({ identifier: "ListedRequest" })
export type ListedRequest = typeof ListedRequest.Type

/** The input for listing calls. The list is newest first. */
export const ListInput = Schema.Struct({
  ...pageFields,
  status: Schema.optionalKey(wholeNumber(100, 599)).annotateKey({
    description: "The HTTP status of the response"
  }),
  error_code: Schema.optionalKey(Schema.Literals(codes)).annotateKey({
    description: "Only calls with this error code"
  }),
  operation: Schema.optionalKey(Schema.String).annotateKey({ description: "An operation's name" }),
  ...aboutFields,
  since: Schema.optionalKey(OffsetDateTime).annotateKey({ description: "Only calls at or after this time" })
})
export type ListInput = typeof ListInput.Type

/** A page of the request log. */
export const RequestLogPage = Schema.Struct({
  requests: Schema.Array(ListedRequest).annotateKey({ description: "The calls, newest first" }),
  next_cursor: Schema.NullOr(Schema.String).annotateKey({
    description: "The `cursor` of the next page; null on the last page"
  })
})
export type RequestLogPage = typeof RequestLogPage.Type

/** The fields of log entries that filters match. */
type LabelledCall = Pick<ListInput, "status" | "operation" | "error_code">

/** The labels of a log entry or of a filter. A filter matches an entry that has all of the filter's labels. */
export const labels = (call: LabelledCall): ReadonlyArray<string> => [
  ...(call.status === undefined ? [] : [`status:${call.status}`]),
  ...(call.operation === undefined ? [] : [`operation:${call.operation}`]),
  ...(call.error_code === undefined ? [] : [`error_code:${call.error_code}`])
]

type Outcome = Pick<ListedRequest, "status" | "operation" | "error_code">

/**
 * Makes the labels of entries. Consecutive entries with the same outcome share one array, because in-memory storage
 * keeps the labels of every entry.
 */
const sharedLabels = (): ((of: Outcome) => ReadonlyArray<string>) => {
  let last: (Outcome & { readonly labels: ReadonlyArray<string> }) | null = null
  return ({ error_code, operation, status }) => {
    if (last?.status !== status || last.operation !== operation || last.error_code !== error_code) {
      const labelled = { status, ...(operation !== null && { operation }), ...(error_code !== null && { error_code }) }
      last = { status, operation, error_code, labels: labels(labelled) }
    }
    return last.labels
  }
}

const labelsOf = sharedLabels()

/**
 * The record kind for log entries. The times in the records are real time, even in a sandbox with an advanced clock.
 */
export const kind = Kind.make({
  name: "api_request",
  schema: ListedRequest,
  survives_reset: true,
  kept_for: { period: "requests", clock: "real" },
  listing: (entry) => ({
    labels: labelsOf(entry),
    about: aboutOf(entry)
  })
})

/** A finished call by a caller with a key. */
export type CallWithKey = FinishedCall & { readonly caller: { readonly key_id: KeyId } }

export const hasKey = (call: FinishedCall): call is CallWithKey => call.caller.key_id !== null

/** The stored record of a finished call. */
export const toStored = (call: CallWithKey): StoredRecord =>
  kind.record(entryOf(call), {
    id: call.request_id,
    version: 1,
    created_at: call.created_at,
    updated_at: call.created_at
  })

const entryOf = (call: CallWithKey): ListedRequest => ({
  request_id: call.request_id,
  created_at: fromMillis(call.created_at),
  environment: call.caller.environment,
  key_id: call.caller.key_id,
  operation: call.operation,
  method: call.transport.method,
  route: call.transport.route,
  status: call.status,
  error_code: call.error_code,
  duration_ms: call.duration_ms,
  quote_request_id: call.quote_request_id,
  quote_id: call.quote_id,
  agent: agentOf(call.transport)
})

/**
 * Makes the descriptions of callers' programs. Consecutive calls with the same transport share one object, because
 * their descriptions are equal.
 */
const sharedAgents = (): ((transport: Transport) => ListedRequest["agent"]) => {
  let last: { readonly transport: Transport; readonly agent: ListedRequest["agent"] } | null = null
  return (transport) => {
    if (last?.transport !== transport) {
      const agent = {
        client_name: storable(transport.client_name),
        client_version: storable(transport.client_version),
        user_agent: storable(transport.user_agent)
      }
      last = { transport, agent }
    }
    return last.agent
  }
}

const agentOf = sharedAgents()

/**
 * Matches the secret part, after the prefix, of a key, an operator's token, a partner link, a read handle or a signing
 * secret.
 */
const secret = /(?<=(?:(?:sandbox|live)_(?:server|widget|platform)|operator|link|rh|whsec)_)[\w+/=-]+/g

/**
 * Prepares text from a caller for storage: truncates it, and removes secrets and characters that a storage backend
 * cannot hold.
 */
const storable = (text: string | null): string | null =>
  text === null ? null : plain(text.slice(0, maxTextCharacters)).replace(secret, "…")
