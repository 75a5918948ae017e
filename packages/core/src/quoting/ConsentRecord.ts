import { Schema } from "effect"
import type { StoredRecord } from "../storage/Change.ts"
import * as Kind from "../storage/Kind.ts"
import { ApplicationId, QuoteRequestId } from "../wire/Ids.ts"
import type { ApplicationRecord } from "./ApplicationRecord.ts"
import { QuoteConsent, receipt_kinds } from "./Consent.ts"

/** A keyed hash of a receipt that was sent with a start. The evidence itself stays with the party that spoke to the person. */
export const KeptReceipt = Schema.Struct({
  kind: Schema.Literals(receipt_kinds),
  /** The contact channels that it covers. */
  channels: Schema.Array(Schema.String),
  mac: Schema.String
})
export type KeptReceipt = typeof KeptReceipt.Type

/** The consents of a start. They have their own record, because they are kept for years and the facts for a month. */
export const ConsentRecord = Schema.Struct({
  application_id: ApplicationId,
  quote_request_id: QuoteRequestId,
  receipts: Schema.Array(KeptReceipt),
  quote_consent: Schema.NullOr(QuoteConsent)
})
export type ConsentRecord = typeof ConsentRecord.Type

/** The label that finds consents by a receipt: by its keyed hash, or by the id of one that the service recorded. */
export const labelOf = (receipt: string): string => `receipt:${receipt}`

/** Consents in storage, by the ids of their applications, and listed by their receipts. */
export const kind = Kind.make({
  name: "consent",
  schema: ConsentRecord,
  kept_for: { period: "consents", clock: "workspace" },
  listing: ({ quote_consent, receipts }) => ({
    labels: [...receipts.map(({ mac }) => mac), ...(quote_consent === null ? [] : [quote_consent.receipt_id])].map(
      labelOf
    )
  })
})

/** The stored record of the consents of an application. `at` in milliseconds of workspace time. */
export const toStored = (
  { id, quote_request_id, quote_consent }: ApplicationRecord,
  receipts: ReadonlyArray<KeptReceipt>,
  at: number
): StoredRecord =>
  kind.record(
    { application_id: id, quote_request_id, receipts, quote_consent },
    { id, version: 1, created_at: at, updated_at: at }
  )
