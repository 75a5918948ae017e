import { Schema } from "effect"
import type { StoredRecord } from "../../storage/Change.ts"
import * as Kind from "../../storage/Kind.ts"
import { QuoteRequestId, WorkspaceId } from "../../wire/Ids.ts"

/** The ask that a carrier's own reference identifies. */
export const CarrierReference = Schema.Struct({ workspace_id: WorkspaceId, quote_request_id: QuoteRequestId })
export type CarrierReference = typeof CarrierReference.Type

/**
 * Carriers' own references. They are stored in the directory, because a callback does not say which workspace its ask
 * belongs to. They are listed by quote request, and erased with their request.
 *
 * A carrier chooses its references, and can put anything into them. Therefore the record is identified only by a keyed
 * hash of the reference, and the reference itself is sealed.
 */
export const kind = Kind.make({
  name: "carrier_reference",
  has_hashes: true,
  schema: CarrierReference,
  kept_for: { period: "quotes", clock: "real" },
  listing: ({ quote_request_id }) => ({ parent: quote_request_id })
})

/** The stored record of a reference. Times are milliseconds of real time. */
export const toStored = (value: CarrierReference, meta: Kind.RecordMeta): StoredRecord => kind.record(value, meta)

/** The purpose of the keyed hash for a carrier's reference. */
export const purposeOf = (carrierId: string): string => `carrier_reference ${carrierId}`

/** The record ID of a carrier's reference, made from its keyed hash. */
export const idOf = (carrierId: string, mac: string): string => `${carrierId} ${mac}`

const form = /^[^\p{C}]{1,200}$/u

/** Whether text can be a carrier's reference: 1 to 200 characters, none of them a control character. */
export const isRef = (text: string): boolean => form.test(text)
