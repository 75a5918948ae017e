import { Schema } from "effect"
import { Environment } from "../access/Caller.ts"
import { LineName } from "../lines/LineName.ts"
import * as QuoteRequest from "../quoting/QuoteRequest.ts"
import { OrganizationId, QuoteRequestId } from "../wire/Ids.ts"
import { textUpTo } from "../wire/Input.ts"
import { pageFields } from "../wire/Pagination.ts"
import { OffsetDateTime, Timestamp, toMillis } from "../wire/Timestamp.ts"

const outcomes = ["pending", "quoted", "declined", "needs_information", "no_answer", "not_asked"] as const

/** A carrier's result, without the carrier's own words, which can contain facts. */
const FoundCarrier = Schema.Struct({
  carrier_id: Schema.String.annotateKey({ description: "The carrier" }),
  outcome: Schema.Literals(outcomes).annotateKey({ description: "The outcome of the ask" }),
  reason: Schema.NullOr(Schema.String).annotateKey({
    description: "The reason for the outcome; null if the carrier quoted or is pending"
  })
}).annotate({ identifier: "FoundCarrier" })

/** A quote request as a search shows it: its state, without anything about the person. */
export const FoundRequest = Schema.Struct({
  id: QuoteRequestId.annotateKey({ description: "The identifier of the request" }),
  organization_id: OrganizationId.annotateKey({ description: "The organization that started it" }),
  environment: Environment.annotateKey({ description: "The environment that it runs in" }),
  line: LineName.annotateKey({ description: "The insurance line" }),
  status: Schema.Literals(QuoteRequest.statuses).annotateKey({ description: "Its status" }),
  reason: Schema.String.annotateKey({ description: "The reason for the status, for a program" }),
  message: Schema.String.annotateKey({ description: "The reason, as a sentence" }),
  created_at: Timestamp.annotate({ description: "When it was started, in the time of its workspace" }),
  updated_at: Timestamp.annotate({ description: "When it last changed, in the time of its workspace" }),
  quotes: Schema.Int.annotateKey({ description: "How many quotes it has" }),
  carriers: Schema.Array(FoundCarrier).annotateKey({ description: "The result of each carrier" })
}).annotate({ identifier: "FoundRequest" })
export type FoundRequest = typeof FoundRequest.Type

/** The input for searching quote requests. */
export const SearchInput = Schema.Struct({
  ...pageFields,
  organization_id: Schema.optionalKey(OrganizationId).annotateKey({
    description: "Only requests of this organization"
  }),
  environment: Schema.optionalKey(Environment).annotateKey({ description: "Only requests in this environment" }),
  status: Schema.optionalKey(Schema.Literals(QuoteRequest.statuses)).annotateKey({
    description: "Only requests with this status"
  }),
  reason: Schema.optionalKey(textUpTo(100, 1)).annotateKey({
    description: "Only requests with this reason for their status"
  }),
  line: Schema.optionalKey(LineName).annotateKey({ description: "Only requests for this line" }),
  ended: Schema.optionalKey(Schema.Literals(["with_quotes", "without_quotes"])).annotateKey({
    description: "Only requests that have ended, with quotes or without any"
  }),
  carrier_id: Schema.optionalKey(textUpTo(100, 1)).annotateKey({
    description: "Only requests with a result from this carrier; with `carrier_outcome`, only if it is that outcome"
  }),
  carrier_outcome: Schema.optionalKey(Schema.Literals(outcomes)).annotateKey({
    description: "Only requests with this outcome for a carrier"
  }),
  created_after: Schema.optionalKey(OffsetDateTime).annotateKey({
    description: "Only requests created at or after this time, in their workspace's time"
  }),
  created_before: Schema.optionalKey(OffsetDateTime).annotateKey({
    description: "Only requests created before this time, in their workspace's time"
  }),
  id: Schema.optionalKey(textUpTo(31, 4)).annotateKey({
    description: "Only requests with this text in their id: 4 characters or more"
  })
})
export type SearchInput = typeof SearchInput.Type

type Filters = Omit<SearchInput, "limit" | "cursor">

/** Whether any filter applies to the body of a record. Storage cannot apply such a filter. */
export const isInBody = ({ carrier_id, carrier_outcome, ended, id, reason }: Filters): boolean =>
  [carrier_id, carrier_outcome, ended, id, reason].some((filter) => filter !== undefined)

/** Whether a request matches all filters, except the filters that select workspaces. */
export const matches = (request: QuoteRequest.QuoteRequest, filters: Filters): boolean => {
  const { created_after, created_before, ended, id, line, reason, status } = filters
  const createdAt = toMillis(request.created_at)
  return (
    (status ?? request.status) === request.status &&
    (line ?? request.line) === request.line &&
    (reason ?? request.status_details.reason) === request.status_details.reason &&
    (id === undefined || request.id.includes(id)) &&
    (created_after === undefined || createdAt >= toMillis(created_after)) &&
    (created_before === undefined || createdAt < toMillis(created_before)) &&
    (ended === undefined || ended === endOf(request)) &&
    hasCarrier(request, filters)
  )
}

const endOf = (request: QuoteRequest.QuoteRequest) => {
  if (!QuoteRequest.isFinal(request)) return null
  return request.quote_ids.length > 0 ? "with_quotes" : "without_quotes"
}

const hasCarrier = ({ carriers }: QuoteRequest.QuoteRequest, { carrier_id, carrier_outcome }: Filters): boolean =>
  (carrier_id === undefined && carrier_outcome === undefined) ||
  carriers.some(
    ({ carrier, outcome }) => (carrier_id ?? carrier.id) === carrier.id && (carrier_outcome ?? outcome) === outcome
  )

/** A quote request as a search shows it. */
export const toFound = (request: QuoteRequest.QuoteRequest, organization_id: OrganizationId): FoundRequest => ({
  id: request.id,
  organization_id,
  environment: request.environment,
  line: request.line,
  status: request.status,
  reason: request.status_details.reason,
  message: request.status_details.message,
  created_at: request.created_at,
  updated_at: request.updated_at,
  quotes: request.quote_ids.length,
  carriers: request.carriers.map(({ carrier, outcome, reason }) => ({ carrier_id: carrier.id, outcome, reason }))
})
