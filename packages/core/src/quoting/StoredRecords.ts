import type { LineName } from "../lines/standard.ts"
import { record, type StoredRecord } from "../storage/Change.ts"
import type { QuoteRequestId } from "../wire/Ids.ts"
import * as Json from "../wire/Json.ts"
import { toMillis } from "../wire/Timestamp.ts"
import { deactivate, type Quote } from "./Quote.ts"
import type { QuoteRequest } from "./QuoteRequest.ts"

/** A version of a quote request as storage keeps it. */
export const storedRequest = (request: QuoteRequest): StoredRecord =>
  record({
    kind: "quote_request",
    id: request.id,
    version: request.version,
    body: JSON.stringify(request),
    status: request.status,
    line: request.line,
    created_at: toMillis(request.created_at),
    updated_at: toMillis(request.updated_at)
  })

/** Reads what `storedRequest` has written. */
export const requestOf = (stored: StoredRecord): QuoteRequest => Json.decode(Json.fromText<QuoteRequest>(stored.body))

/** A version of a quote as storage keeps it. `created_at` is that of its first version; `at` is now: milliseconds. */
export const storedQuote = (quote: Quote, line: LineName, created_at: number, at: number): StoredRecord => ({
  kind: "quote",
  id: quote.id,
  version: quote.version,
  body: JSON.stringify(quote),
  parent: quote.quote_request_id,
  status: quote.status,
  line,
  labels: [],
  created_at,
  updated_at: at,
  expires_at:
    quote.status === "active" && quote.availability.expires_at !== null ? toMillis(quote.availability.expires_at) : null
})

/** Reads what `storedQuote` has written. */
export const quoteOf = (stored: StoredRecord): Quote => Json.decode(Json.fromText<Quote>(stored.body))

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
    return { version: stored.version, json: Json.fromText(stored.body) }
  }
  const expired = deactivate(quoteOf(stored), "expired")
  return { version: expired.version, json: Json.encode(expired) }
}

/** What the service knows of a quote's offer and no caller sees. */
export interface OfferRecord {
  readonly carrier_id: string
  readonly offer_ref: string
  /** The carrier's page; where `/go/…` leads. */
  readonly handoff_url: string | null
}

/** The private side of a quote as storage keeps it. */
export const storedOffer = (offer: OfferRecord, quote: Quote, at: number): StoredRecord =>
  record({
    kind: "offer",
    id: quote.id,
    version: quote.version,
    body: JSON.stringify(offer),
    parent: quote.quote_request_id,
    created_at: at,
    updated_at: at
  })

/** Reads what `storedOffer` has written. */
export const offerOf = (stored: StoredRecord): OfferRecord => Json.decode(Json.fromText<OfferRecord>(stored.body))

/** The mark that one carrier's ask has begun: its first version is written once, by whoever makes the ask. */
export const storedBeginning = (quote_request_id: QuoteRequestId, carrier_id: string, at: number): StoredRecord =>
  record({
    kind: "ask",
    id: `${quote_request_id} ${carrier_id}`,
    version: 1,
    body: "{}",
    parent: quote_request_id,
    created_at: at,
    updated_at: at
  })
