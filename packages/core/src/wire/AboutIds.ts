import { Schema } from "effect"
import { QuoteId, QuoteRequestId } from "./Ids.ts"

/** The filters by which a list selects records about a quote request or a quote (api.md, Lists). */
export const aboutFields = {
  quote_request_id: Schema.optionalKey(QuoteRequestId).annotateKey({
    description: "Only entries about this quote request or one of its quotes"
  }),
  quote_id: Schema.optionalKey(QuoteId).annotateKey({ description: "Only entries about this quote" })
}

/** The quote request and the quote that a record is about, or by which a list filters. */
export interface AboutIds {
  readonly quote_request_id?: QuoteRequestId | null
  readonly quote_id?: QuoteId | null
}

/** The IDs that a record is about, or by which a list filters. The most specific ID comes first. */
export const aboutOf = ({ quote_id = null, quote_request_id = null }: AboutIds): ReadonlyArray<string> => {
  if (quote_id === null) return quote_request_id === null ? none : [quote_request_id]
  return quote_request_id === null ? [quote_id] : [quote_id, quote_request_id]
}

const none: ReadonlyArray<never> = []

/** `aboutFields` as query parameters. */
export const aboutQuery = { quote_request_id: "string", quote_id: "string" } as const
