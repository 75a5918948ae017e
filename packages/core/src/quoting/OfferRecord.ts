import { Schema } from "effect"
import type { StoredRecord } from "../storage/Change.ts"
import * as Kind from "../storage/Kind.ts"
import type { Quote } from "./Quote.ts"

/** The private part of a quote: what the service knows about its offer and callers do not see. */
export const OfferRecord = Schema.Struct({
  carrier_id: Schema.String,
  offer_ref: Schema.String,
  /** The carrier's page, to which `/go/…` redirects. */
  handoff_url: Schema.NullOr(Schema.String)
})
export type OfferRecord = typeof OfferRecord.Type

/** Private parts of quotes in storage, by the ids of their quotes. */
export const kind = Kind.make({ name: "offer", schema: OfferRecord, sealed: true })

/** The stored record of the private part of a quote's version. */
export const toStored = (offer: OfferRecord, quote: Quote, at: number): StoredRecord =>
  kind.record(offer, {
    id: quote.id,
    version: quote.version,
    parent: quote.quote_request_id,
    created_at: at,
    updated_at: at
  })
