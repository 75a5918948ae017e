import { Schema } from "effect"
import { codes } from "../ApiError.ts"
import { Environment } from "../access/Caller.ts"
import { KeyId, QuoteId, QuoteRequestId, RequestId } from "../Ids.ts"
import { wholeNumber } from "../Input.ts"
import { pageFields } from "../Page.ts"
import { bare, type StoredRecord } from "../storage/Change.ts"
import { fromMillis, OffsetDateTime, Timestamp } from "../Timestamp.ts"
import type { FinishedCall, Via } from "./FinishedCall.ts"

/** Texts of callers are kept up to this length (api.md, Limits). */
export const max_text_characters = 200

const NullableText = Schema.NullOr(Schema.String)

const fields = {
  request_id: RequestId,
  created_at: Timestamp.annotate({ description: "When the request was received" }),
  environment: Environment,
  key_id: KeyId.annotate({ description: "The key's identifier, never the key" }),
  operation: NullableText.annotate({ description: "Null where the request reached no operation" }),
  method: Schema.String,
  route: Schema.String.annotate({
    description: "The matched path with {id} in place of each ID; * where none matched"
  }),
  status: Schema.Int.annotate({ description: "The HTTP status of the answer" }),
  error_code: Schema.NullOr(Schema.Literals(codes)),
  duration_ms: Schema.Int,
  quote_request_id: Schema.NullOr(QuoteRequestId),
  quote_id: Schema.NullOr(QuoteId)
}

/** One API call of an organization (api.md, Request log entry): no body, no key, nothing of a person. */
export const RequestLogEntry = Schema.Struct(fields).annotate({ identifier: "RequestLogEntry" })
export type RequestLogEntry = typeof RequestLogEntry.Type

/** An entry as the list shows it: with what the caller's program said of itself. */
export const ListedRequest = Schema.Struct({
  ...fields,
  agent: Schema.Struct({
    client_name: NullableText.annotate({ description: "Only clients of the agent endpoint name themselves" }),
    client_version: NullableText,
    user_agent: NullableText.annotate({ description: "At most 200 characters" })
  })
}).annotate({ identifier: "ListedRequest" })
export type ListedRequest = typeof ListedRequest.Type

/** Which entries to list, newest first. */
export const ListInput = Schema.Struct({
  ...pageFields,
  status: Schema.optionalKey(wholeNumber(100, 599)).annotateKey({
    description: "The HTTP status of the answer"
  }),
  error_code: Schema.optionalKey(Schema.Literals(codes)),
  operation: Schema.optionalKey(Schema.String).annotateKey({ description: "An operation's name" }),
  since: Schema.optionalKey(OffsetDateTime).annotateKey({ description: "Requests at or after this moment" })
})
export type ListInput = typeof ListInput.Type

/** A page of the request log. */
export const RequestLogPage = Schema.Struct({
  requests: Schema.Array(ListedRequest),
  next_cursor: Schema.NullOr(Schema.String)
})
export type RequestLogPage = typeof RequestLogPage.Type

/** What the log can be filtered by, but for the time. */
type Labelled = Pick<ListInput, "status" | "operation" | "error_code">

/** The labels that an entry carries, and that a list of such entries asks for. */
export const labels = (of: Labelled): ReadonlyArray<string> => [
  ...(of.status === undefined ? [] : [`status:${of.status}`]),
  ...(of.operation === undefined ? [] : [`operation:${of.operation}`]),
  ...(of.error_code === undefined ? [] : [`error_code:${of.error_code}`])
]

/**
 * Calls as they are kept; their times are real, also where a sandbox's clock was moved.
 *
 * Busy hosts answer many calls of a kind, so what those have in common is encoded once. The bodies are written as one text
 * and cut: thousands of small texts would cost the collection of garbage more than all else here.
 */
export const recordsOf = (calls: ReadonlyArray<FinishedCall>): ReadonlyArray<StoredRecord> => {
  const kinds: Array<Kind> = []
  const labelled: Array<ReadonlyArray<string>> = []
  const bodies = calls.map((call) => {
    const kind = kinds.find(({ first }) => isAlike(first, call)) ?? kindOf(call)
    if (kind.first === call) kinds.push(kind)
    labelled.push(kind.labels)
    return bodyOf(call, kind)
  })
  const text = bodies.join("")
  let end = 0
  return calls.map(({ created_at, request_id }, at) => {
    const start = end
    end += bodies[at]?.length ?? 0
    return {
      ...bare,
      kind: "api_request",
      id: request_id,
      version: 1,
      body: text.slice(start, end),
      labels: labelled[at] ?? [],
      created_at,
      updated_at: created_at
    }
  })
}

/** Calls that differ in their identifiers and times only. */
interface Kind {
  readonly first: FinishedCall
  readonly labels: ReadonlyArray<string>
  /** The members of the entry between its times. */
  readonly middle: string
  readonly agent: string
}

const isAlike = (one: FinishedCall, other: FinishedCall): boolean =>
  one.operation === other.operation &&
  one.status === other.status &&
  one.error_code === other.error_code &&
  one.caller.key_id === other.caller.key_id &&
  (one.via === other.via || isAlikeVia(one.via, other.via))

const isAlikeVia = (one: Via, other: Via): boolean =>
  one.method === other.method &&
  one.route === other.route &&
  one.user_agent === other.user_agent &&
  one.client_name === other.client_name &&
  one.client_version === other.client_version

const kindOf = (call: FinishedCall): Kind => {
  const { caller, error_code, operation, status, via } = call
  const middle = {
    environment: caller.environment,
    key_id: caller.key_id,
    operation,
    method: via.method,
    route: via.route,
    status,
    error_code
  } satisfies Members
  const agent = {
    client_name: storable(via.client_name),
    client_version: storable(via.client_version),
    user_agent: storable(via.user_agent)
  } satisfies ListedRequest["agent"]
  const found = labels({ status, ...(operation !== null && { operation }), ...(error_code !== null && { error_code }) })
  return { first: call, labels: found, middle: JSON.stringify(middle).slice(1, -1), agent: JSON.stringify(agent) }
}

type Members = { readonly [Name in keyof ListedRequest]?: unknown }

const bodyOf = (call: FinishedCall, { agent, middle }: Kind): string =>
  `{"request_id":${JSON.stringify(call.request_id)},"created_at":"${fromMillis(call.created_at)}",${middle},"duration_ms":${call.duration_ms},"quote_request_id":${quoted(call.quote_request_id)},"quote_id":${quoted(call.quote_id)},"agent":${agent}}`

/** An identifier has nothing in it that JSON would escape. */
const quoted = (id: QuoteRequestId | QuoteId | null): string => (id === null ? "null" : `"${id}"`)

/** What stands behind the prefix of a key, a read handle or a signing secret. */
const secret = /(?<=(?:(?:sandbox|live)_(?:server|widget|platform)|rh|whsec)_)[\w+/=-]+/g

/** Text of a caller as every storage can hold it, without secrets, and no longer than the log shows it. */
const storable = (text: string | null): string | null =>
  text === null
    ? null
    : text
        .slice(0, max_text_characters)
        .toWellFormed()
        .replace(/\p{Cc}/gu, " ")
        .replace(secret, "…")
