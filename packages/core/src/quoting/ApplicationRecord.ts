import { Schema } from "effect"
import { KeptHandle } from "../access/ReadHandle.ts"
import type { Expectation, StoredRecord } from "../storage/Change.ts"
import * as Kind from "../storage/Kind.ts"
import { ApplicationId, QuoteRequestId } from "../wire/Ids.ts"
import { QuoteConsent } from "./Consent.ts"

/** The stored form of an application: the facts, and the parts of a start that readers of quotes never see. */
export const ApplicationRecord = Schema.Struct({
  id: ApplicationId,
  quote_request_id: QuoteRequestId,
  /** The facts as the caller sent them. Assumed facts are derived from them and from `assumed_on`. */
  facts: Schema.ObjectKeyword,
  /** The workspace's day of the start, `YYYY-MM-DD`. */
  assumed_on: Schema.String,
  credit_disclosed: Schema.Boolean,
  /** The consent that the service itself recorded for a caller without a key. */
  quote_consent: Schema.NullOr(QuoteConsent),
  read_handle: Schema.NullOr(KeptHandle)
})
export type ApplicationRecord = typeof ApplicationRecord.Type

/**
 * Applications in storage: sealed, and listed by their ids and by their requests. What was said about them in exchanges with
 * carriers is erased with them.
 */
export const kind = Kind.make({
  name: "application",
  schema: ApplicationRecord,
  sealed: true,
  kept_for: { period: "facts", clock: "workspace" },
  erases_children: true,
  listing: ({ quote_request_id }) => ({ parent: quote_request_id })
})

/**
 * Expects that the facts of an application are still there. Whatever is stored about them must expect it: an erasure
 * erases the application before everything that belongs to it.
 */
export const expectation = (id: ApplicationId): Expectation => ({ kind: kind.name, id, version: 1 })

/** The stored record. `at` is in milliseconds of workspace time. */
export const toStored = (record: ApplicationRecord, at: number): StoredRecord =>
  kind.record(record, { id: record.id, version: 1, created_at: at, updated_at: at })
