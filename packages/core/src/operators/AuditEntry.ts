import { Schema } from "effect"
import type { StoredRecord } from "../storage/Change.ts"
import * as Kind from "../storage/Kind.ts"
import { codes } from "../wire/ApiError.ts"
import { AuditEntryId, OperatorTokenId, OrganizationId, QuoteRequestId, RequestId } from "../wire/Ids.ts"
import { pageFields } from "../wire/Pagination.ts"
import { OffsetDateTime, Timestamp, toMillis } from "../wire/Timestamp.ts"
import { OperatorScope } from "./OperatorToken.ts"

/**
 * How a call ended. `begun` means that no end was recorded; only calls that change something or read facts can have
 * this outcome.
 */
export const auditOutcomes = ["begun", "succeeded", "refused"] as const

/** One call by an operator. It contains only IDs: no facts about a person, no token, and no free text from the call. */
export const AuditEntry = Schema.Struct({
  id: AuditEntryId.annotateKey({ description: "The identifier of the entry" }),
  at: Timestamp.annotate({ description: "When the call was received, in real time" }),
  request_id: RequestId.annotateKey({ description: "The `Request-Id` of the response" }),
  token_id: OperatorTokenId.annotate({ description: "The token's identifier, never the token" }),
  token_name: Schema.String.annotate({ description: "The name of the token" }),
  operation: Schema.String.annotateKey({ description: "What was called" }),
  scope: OperatorScope.annotate({ description: "The scope that the operation needs" }),
  organization_id: Schema.NullOr(OrganizationId).annotateKey({
    description: "The organization that the call was about; null if none or several"
  }),
  quote_request_id: Schema.NullOr(QuoteRequestId).annotateKey({
    description: "The quote request that the call was about; null if none"
  }),
  resource: Schema.NullOr(Schema.String).annotateKey({
    description:
      "What else the call was about, such as a key or a carrier, by id; null if nothing, or if the call was refused"
  }),
  outcome: Schema.Literals(auditOutcomes).annotateKey({
    description: "How the call ended. `begun`: the call changes something or reads facts, and its end was not recorded"
  }),
  error_code: Schema.NullOr(Schema.Literals(codes)).annotateKey({
    description: "Why the call was refused; null otherwise"
  })
}).annotate({ identifier: "AuditEntry" })
export type AuditEntry = typeof AuditEntry.Type

/** What a call is about: an organization, a quote request, or another resource. */
export type AuditSubject = Pick<AuditEntry, "organization_id" | "quote_request_id" | "resource">

/** The subject of a call that is about no particular resource. */
export const noSubject: AuditSubject = { organization_id: null, quote_request_id: null, resource: null }

/**
 * The record kind for audit entries. The records are in the directory, keyed by ID, and are kept as long as quote
 * requests.
 */
export const kind = Kind.make({
  name: "audit_entry",
  schema: AuditEntry,
  survives_reset: true,
  kept_for: { period: "quotes", clock: "real" },
  listing: (entry) => ({ labels: labelsOf(entry), about: aboutOf(entry) })
})

/** The fields of entries that filters match by labels. */
interface LabelledEntry {
  readonly operation?: string
  readonly token_id?: string
  readonly outcome?: string
}

/** The labels of an entry or of a filter. A filter matches an entry that has all of the filter's labels. */
export const labelsOf = ({ operation, outcome, token_id }: LabelledEntry): ReadonlyArray<string> => [
  ...(operation === undefined ? [] : [`operation:${operation}`]),
  ...(token_id === undefined ? [] : [`token:${token_id}`]),
  ...(outcome === undefined ? [] : [`outcome:${outcome}`])
]

/** The IDs that an entry or a filter is about. The most specific ID comes first. */
export const aboutOf = (target: {
  readonly organization_id?: string | null
  readonly quote_request_id?: string | null
}): ReadonlyArray<string> =>
  [target.quote_request_id, target.organization_id].filter((id) => id !== undefined && id !== null)

/**
 * The stored record of an entry: version 1 when it is added, version 2 when the outcome of a `begun` call is recorded.
 */
export const toStored = (entry: AuditEntry, version: 1 | 2): StoredRecord => {
  const at = toMillis(entry.at)
  return kind.record(entry, { id: entry.id, version, created_at: at, updated_at: at })
}

/** The input for listing entries. The list is newest first. */
export const ListInput = Schema.Struct({
  ...pageFields,
  operation: Schema.optionalKey(Schema.String).annotateKey({ description: "Only calls of this operation" }),
  token_id: Schema.optionalKey(OperatorTokenId).annotateKey({ description: "Only calls with this token" }),
  outcome: Schema.optionalKey(Schema.Literals(auditOutcomes)).annotateKey({
    description: "Only calls with this outcome"
  }),
  organization_id: Schema.optionalKey(OrganizationId).annotateKey({
    description: "Only calls about this organization"
  }),
  quote_request_id: Schema.optionalKey(QuoteRequestId).annotateKey({
    description: "Only calls about this quote request"
  }),
  since: Schema.optionalKey(OffsetDateTime).annotateKey({ description: "Only calls at or after this time" })
})
export type ListInput = typeof ListInput.Type

/** A page of the audit log. */
export const AuditPage = Schema.Struct({
  entries: Schema.Array(AuditEntry).annotateKey({ description: "The calls, newest first" }),
  next_cursor: Schema.NullOr(Schema.String).annotateKey({
    description: "The `cursor` of the next page; null on the last one"
  })
})
export type AuditPage = typeof AuditPage.Type
