import { Schema } from "effect"
import type { StoredRecord } from "../storage/Change.ts"
import * as Kind from "../storage/Kind.ts"
import { ApplicationId, QuoteRequestId, type WorkspaceId } from "../wire/Ids.ts"
import type { ApplicationRecord } from "./ApplicationRecord.ts"
import { QuoteConsent, receiptKinds } from "./Consent.ts"

/**
 * A keyed hash of a receipt that was sent with a start call. The evidence itself stays with whoever spoke to the
 * person.
 */
export const StoredReceipt = Schema.Struct({
  kind: Schema.Literals(receiptKinds),
  /** The contact channels that the receipt covers. */
  channels: Schema.Array(Schema.String),
  mac: Schema.String
})
export type StoredReceipt = typeof StoredReceipt.Type

/**
 * A start call's consents. They have their own record, because they are kept for years, and the facts only for a month.
 */
export const ConsentRecord = Schema.Struct({
  application_id: ApplicationId,
  quote_request_id: QuoteRequestId,
  receipts: Schema.Array(StoredReceipt),
  quote_consent: Schema.NullOr(QuoteConsent)
})
export type ConsentRecord = typeof ConsentRecord.Type

/**
 * The label that finds consents by their receipt. It contains the receipt's keyed hash, or the receipt's ID if the
 * service itself recorded the consent.
 */
export const labelOfReceipt = (receipt: string): string => `receipt:${receipt}`

/**
 * The purpose of a receipt's keyed hash. It names the workspace, so hashes from different workspaces cannot be
 * compared.
 */
export const purposeOfReceipt = (workspaceId: WorkspaceId): string => `receipt ${workspaceId}`

/** The record kind for consents, keyed by their application's ID and listed by receipt. */
export const kind = Kind.make({
  name: "consent",
  has_hashes: true,
  schema: ConsentRecord,
  kept_for: { period: "consents", clock: "workspace" },
  listing: ({ quote_consent, receipts }) => ({
    labels: [...receipts.map(({ mac }) => mac), ...(quote_consent === null ? [] : [quote_consent.receipt_id])].map(
      labelOfReceipt
    )
  })
})

/** The stored record of an application's consents. `now` is in milliseconds of workspace time. */
export const toStored = (
  { id, quote_request_id, quote_consent }: ApplicationRecord,
  receipts: ReadonlyArray<StoredReceipt>,
  now: number
): StoredRecord =>
  kind.record(
    { application_id: id, quote_request_id, receipts, quote_consent },
    { id, version: 1, created_at: now, updated_at: now }
  )
