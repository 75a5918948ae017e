import { Schema } from "effect"
import type { StoredRecord } from "../storage/Change.ts"
import * as Kind from "../storage/Kind.ts"
import type { Quote } from "./Quote.ts"

/** The private side of a quote: what the service knows of its offer and no caller sees. */
export const OfferRecord = Schema.Struct({
  carrier_id: Schema.String,
  offer_ref: Schema.String,
  /** The carrier's page; where `/go/…` leads. */
  handoff_url: Schema.NullOr(Schema.String)
})
export type OfferRecord = typeof OfferRecord.Type

/** The private sides of quotes in storage, under the ids of their quotes. */
export const kind = Kind.make({ name: "offer", schema: OfferRecord, sealed: true })

/** The private side of a version of a quote as storage keeps it. */
export const toStored = (offer: OfferRecord, quote: Quote, at: number): StoredRecord =>
  kind.record(offer, {
    id: quote.id,
    version: quote.version,
    parent: quote.quote_request_id,
    created_at: at,
    updated_at: at
  })
