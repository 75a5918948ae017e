import { Schema } from "effect"
import { KeptHandle } from "../access/ReadHandle.ts"
import type { StoredRecord } from "../storage/Change.ts"
import * as Kind from "../storage/Kind.ts"
import { ApplicationId, QuoteRequestId } from "../wire/Ids.ts"
import { QuoteConsent } from "./Consent.ts"

/** What is stored of an application: the facts, and what goes with a start that no reader of quotes sees. */
export const ApplicationRecord = Schema.Struct({
  id: ApplicationId,
  quote_request_id: QuoteRequestId,
  /** The facts as the caller sent them. What is assumed beside them follows from them and from `assumed_on`. */
  facts: Schema.ObjectKeyword,
  /** The workspace's day of the start, `YYYY-MM-DD`. */
  assumed_on: Schema.String,
  credit_disclosed: Schema.Boolean,
  /** The consent that the service itself recorded for a caller without a key. */
  quote_consent: Schema.NullOr(QuoteConsent),
  read_handle: Schema.NullOr(KeptHandle)
})
export type ApplicationRecord = typeof ApplicationRecord.Type

/** Applications in storage, sealed, found by their ids and by their requests. */
export const kind = Kind.make({
  name: "application",
  schema: ApplicationRecord,
  sealed: true,
  kept_for: { period: "facts", clock: "workspace" },
  listing: ({ quote_request_id }) => ({ parent: quote_request_id })
})

/** The record as storage keeps it. `at` in milliseconds of workspace time. */
export const toStored = (record: ApplicationRecord, at: number): StoredRecord =>
  kind.record(record, { id: record.id, version: 1, created_at: at, updated_at: at })
