import { Schema } from "effect"
import { StoredHandle } from "../access/ReadHandle.ts"
import type { Expectation, StoredRecord } from "../storage/Change.ts"
import * as Kind from "../storage/Kind.ts"
import { ApplicationId, QuoteRequestId } from "../wire/Ids.ts"
import { QuoteConsent } from "./Consent.ts"

/** An application as stored: the facts, and the parts of a start call that readers of quotes never see. */
export const ApplicationRecord = Schema.Struct({
  id: ApplicationId,
  quote_request_id: QuoteRequestId,
  /** The facts as the caller sent them. Assumed facts are derived from these and from `assumed_on`. */
  facts: Schema.ObjectKeyword,
  /** The date in the workspace when the request started, `YYYY-MM-DD`. */
  assumed_on: Schema.String,
  credit_disclosed: Schema.Boolean,
  /** The consent that the service itself recorded; null for a caller with a key. */
  quote_consent: Schema.NullOr(QuoteConsent),
  read_handle: Schema.NullOr(StoredHandle)
})
export type ApplicationRecord = typeof ApplicationRecord.Type

/**
 * The record kind for applications. The records are sealed, keyed by ID and listed by request. Erasing an application
 * also erases the recorded exchanges with carriers.
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
 * Expects that an application's facts are still stored. Every change that stores something derived from the facts must
 * expect this, because an erasure erases the application before everything that belongs to it.
 */
export const factsStored = (id: ApplicationId): Expectation => ({ kind: kind.name, id, version: 1 })

/** The stored record of an application. `now` is in milliseconds of workspace time. */
export const toStored = (record: ApplicationRecord, now: number): StoredRecord =>
  kind.record(record, { id: record.id, version: 1, created_at: now, updated_at: now })
