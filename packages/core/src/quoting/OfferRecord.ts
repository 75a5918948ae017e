import { Schema } from "effect"
import type { StoredRecord } from "../storage/Change.ts"
import * as Kind from "../storage/Kind.ts"
import type { Quote } from "./Quote.ts"

/** The private part of a quote: what the service knows about the offer but does not show to callers. */
export const OfferRecord = Schema.Struct({
  carrier_id: Schema.String,
  offer_ref: Schema.String,
  /** The carrier's page, to which `/go/…` redirects. */
  handoff_url: Schema.NullOr(Schema.String)
})
export type OfferRecord = typeof OfferRecord.Type

/** The record kind for the private parts of quotes, keyed by the quote's ID. */
export const kind = Kind.make({ name: "offer", schema: OfferRecord, sealed: true })

/** The stored record of a quote version's private part. */
export const toStored = (offer: OfferRecord, quote: Quote, now: number): StoredRecord =>
  kind.record(offer, {
    id: quote.id,
    version: quote.version,
    parent: quote.quote_request_id,
    created_at: now,
    updated_at: now
  })
