import { Schema } from "effect"
import type { LineName } from "../lines/standard.ts"
import type { StoredRecord } from "../storage/Change.ts"
import * as Kind from "../storage/Kind.ts"
import { QuoteRequestId } from "../wire/Ids.ts"
import * as Json from "../wire/Json.ts"
import { toMillis } from "../wire/Timestamp.ts"
import { deactivate, Quote } from "./Quote.ts"
import { QuoteRequest } from "./QuoteRequest.ts"

/** Quote requests in storage, found by their ids; their readers are woken by every version. */
export const quoteRequests = Kind.make({
  name: "quote_request",
  schema: QuoteRequest,
  kept_for: { period: "quotes", clock: "workspace" },
  erases_children: true,
  wakes: "itself",
  listing: ({ line, status }) => ({ line, status })
})

/** A version of a quote request as storage keeps it. */
export const storedRequest = (request: QuoteRequest): StoredRecord =>
  quoteRequests.record(request, {
    id: request.id,
    version: request.version,
    created_at: toMillis(request.created_at),
    updated_at: toMillis(request.updated_at)
  })

/** Quotes in storage, found by their ids and by their requests. What a person was once offered can be read again. */
export const quotes = Kind.make({
  name: "quote",
  schema: Quote,
  sealed: true,
  keeps_history: true,
  wakes: "parent",
  listing: ({ availability, quote_request_id, status }) => ({
    parent: quote_request_id,
    status,
    expires_at: status === "active" && availability.expires_at !== null ? toMillis(availability.expires_at) : null
  })
})

/** A version of a quote as storage keeps it. `created_at` is that of its first version; `at` is now: milliseconds. */
export const storedQuote = (quote: Quote, line: LineName, created_at: number, at: number): StoredRecord =>
  quotes.record(quote, { id: quote.id, version: quote.version, line, created_at, updated_at: at })

/**
 * The newest version of a quote at a moment of workspace time, in milliseconds, encoded.
 *
 * A quote whose time is up reads as expired even before the job that stores its last version has run, and in the very
 * words in which that job will store it.
 */
export const newestAt = (
  stored: StoredRecord,
  now: number
): { readonly version: number; readonly json: Json.Json<Quote> } => {
  if (stored.expires_at === null || now < stored.expires_at) {
    return { version: stored.version, json: quotes.json(stored) }
  }
  const expired = deactivate(quotes.value(stored), "expired")
  return { version: expired.version, json: Json.encode(expired) }
}

/** What the service knows of a quote's offer and no caller sees. */
export const OfferRecord = Schema.Struct({
  carrier_id: Schema.String,
  offer_ref: Schema.String,
  /** The carrier's page; where `/go/…` leads. */
  handoff_url: Schema.NullOr(Schema.String)
})
export type OfferRecord = typeof OfferRecord.Type

/** The private sides of quotes in storage, under the ids of their quotes. */
export const offers = Kind.make({ name: "offer", schema: OfferRecord, sealed: true })

/** The private side of a quote as storage keeps it. */
export const storedOffer = (offer: OfferRecord, quote: Quote, at: number): StoredRecord =>
  offers.record(offer, {
    id: quote.id,
    version: quote.version,
    parent: quote.quote_request_id,
    created_at: at,
    updated_at: at
  })

/** Marks in storage that one carrier's ask has begun. */
export const begunAsks = Kind.make({
  name: "ask",
  schema: Schema.Struct({ quote_request_id: QuoteRequestId }),
  listing: ({ quote_request_id }) => ({ parent: quote_request_id })
})

/** The mark that one carrier's ask has begun: its first version is written once, by whoever makes the ask. */
export const storedBeginning = (quote_request_id: QuoteRequestId, carrier_id: string, at: number): StoredRecord =>
  begunAsks.record(
    { quote_request_id },
    { id: `${quote_request_id} ${carrier_id}`, version: 1, created_at: at, updated_at: at }
  )
