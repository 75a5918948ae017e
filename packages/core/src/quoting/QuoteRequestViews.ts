import { Schema } from "effect"
import { LineName } from "../lines/LineName.ts"
import { QuoteRequestId } from "../wire/Ids.ts"
import { wholeNumber } from "../wire/Input.ts"
import { pageFields } from "../wire/Pagination.ts"
import { OffsetDateTime } from "../wire/Timestamp.ts"
import { Quote } from "./Quote.ts"
import { QuoteRequest, statuses } from "./QuoteRequest.ts"

/** How long a read of a quote request may wait for a change, in seconds (api.md, Waiting). */
export const maxWaitSeconds = 20

/** The input for reading a quote request: the request, and how long to wait for a change. */
export const GetInput = Schema.Struct({
  id: Schema.String.annotateKey({ description: "The quote request, `qreq_…`" }),
  wait_seconds: Schema.optionalKey(wholeNumber(0, maxWaitSeconds)).annotateKey({
    description: "How long to wait for a change while the request is in progress; 20 by default"
  }),
  since_version: Schema.optionalKey(wholeNumber(0)).annotateKey({
    description: "The version that you have: a newer one is returned immediately"
  })
})
export type GetInput = typeof GetInput.Type

/** A quote request and the newest version of each of its quotes, oldest quote first. */
export const QuoteRequestWithQuotes = Schema.Struct({
  quote_request: QuoteRequest.annotateKey({ description: "The request" }),
  quotes: Schema.Array(Quote).annotateKey({
    description: "The newest version of each of its quotes, oldest quote first"
  })
})
export type QuoteRequestWithQuotes = typeof QuoteRequestWithQuotes.Type

/**
 * A request and its quotes as a partner link shows them (api.md, Partner links). Carriers' own words, assumed facts and
 * labels are left out, because they can reveal something about the person. Actions are left out, because only the
 * person may take them.
 */
export const forPartner = ({ quote_request, quotes }: QuoteRequestWithQuotes): QuoteRequestWithQuotes => ({
  quote_request: {
    ...quote_request,
    carriers: quote_request.carriers.map((result) => ({ ...result, message: null })),
    next_actions: []
  },
  quotes: quotes.map((quote) => ({
    ...quote,
    coverage: { conditions: [], subjects: quote.coverage.subjects.map((subject) => ({ ...subject, label: null })) },
    next_actions: [],
    evidence: { ...quote.evidence, label: "", assumptions: [] }
  }))
})

/** The input for listing quote requests. */
export const ListInput = Schema.Struct({
  ...pageFields,
  status: Schema.optionalKey(Schema.Literals(statuses)).annotateKey({ description: "Only requests with this status" }),
  line: Schema.optionalKey(LineName).annotateKey({ description: "Only requests for this line" }),
  created_after: Schema.optionalKey(OffsetDateTime).annotateKey({
    description: "Only requests created at or after this time"
  }),
  created_before: Schema.optionalKey(OffsetDateTime).annotateKey({
    description: "Only requests created before this time"
  }),
  updated_since: Schema.optionalKey(OffsetDateTime).annotateKey({
    description: "Only requests updated at or after this time"
  })
})
export type ListInput = typeof ListInput.Type

/** A page of quote requests. */
export const QuoteRequestPage = Schema.Struct({
  quote_requests: Schema.Array(QuoteRequest).annotateKey({ description: "The requests, newest first" }),
  next_cursor: Schema.NullOr(Schema.String).annotateKey({
    description: "The `cursor` of the next page; null on the last one"
  })
})
export type QuoteRequestPage = typeof QuoteRequestPage.Type

/** The response to a cancellation: whether the request was cancelled, and its version. */
export const CancelResult = Schema.Struct({
  id: QuoteRequestId.annotateKey({ description: "The identifier of the request" }),
  version: Schema.Int.annotateKey({ description: "Its version after the call" }),
  status: Schema.Literals(["cancelled", "cannot_stop"]).annotateKey({
    description: "Whether it was cancelled, or was already being quoted"
  })
}).annotate({ identifier: "CancelResult" })
export type CancelResult = typeof CancelResult.Type
