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

/** Input of a read: the quote request, and how long to wait for a change. */
export const GetInput = Schema.Struct({
  id: Schema.String.annotateKey({ description: "The quote request, `qreq_…`" }),
  wait_seconds: Schema.optionalKey(wholeNumber(0, maxWaitSeconds)).annotateKey({
    description: "How long to wait for a change while the request is in progress; 20 by default"
  }),
  since_version: Schema.optionalKey(wholeNumber(0)).annotateKey({
    description: "The version that you hold: a newer one is answered at once"
  })
})
export type GetInput = typeof GetInput.Type

/** A quote request and the newest version of each of its quotes, oldest quote first. */
export const QuoteRequestWithQuotes = Schema.Struct({ quote_request: QuoteRequest, quotes: Schema.Array(Quote) })
export type QuoteRequestWithQuotes = typeof QuoteRequestWithQuotes.Type

/** Input of a list of quote requests. */
export const ListInput = Schema.Struct({
  ...pageFields,
  status: Schema.optionalKey(Schema.Literals(statuses)),
  line: Schema.optionalKey(LineName),
  created_after: Schema.optionalKey(OffsetDateTime),
  created_before: Schema.optionalKey(OffsetDateTime),
  updated_since: Schema.optionalKey(OffsetDateTime)
})
export type ListInput = typeof ListInput.Type

/** A page of quote requests. */
export const QuoteRequestPage = Schema.Struct({
  quote_requests: Schema.Array(QuoteRequest),
  next_cursor: Schema.NullOr(Schema.String)
})
export type QuoteRequestPage = typeof QuoteRequestPage.Type

/** The result of a cancellation. */
export const CancelResult = Schema.Struct({
  id: QuoteRequestId,
  version: Schema.Int,
  status: Schema.Literals(["cancelled", "cannot_stop"])
}).annotate({ identifier: "CancelResult" })
export type CancelResult = typeof CancelResult.Type
