import { Effect, Schema } from "effect"
import { KeptHandle } from "../access/ReadHandle.ts"
import type { Seal } from "../access/Seal.ts"
import type { Application, Assumed } from "../lines/Application.ts"
import type { Line } from "../lines/Line.ts"
import type { StoredRecord } from "../storage/Change.ts"
import * as Kind from "../storage/Kind.ts"
import type { StorageUnavailable } from "../storage/Storage.ts"
import { ApplicationId, QuoteRequestId } from "../wire/Ids.ts"
import * as Json from "../wire/Json.ts"
import { QuoteConsent } from "./Consent.ts"

/** An application as stored: the sealed facts, and parts of its start that readers of quotes do not see. */
export const ApplicationRecord = Schema.Struct({
  id: ApplicationId,
  quote_request_id: QuoteRequestId,
  /** The facts as the caller sent them, sealed. The assumed facts follow from these and from `assumed_on`. */
  sealed: Schema.String,
  /** The day of the start in workspace time, `YYYY-MM-DD`. */
  assumed_on: Schema.String,
  credit_disclosed: Schema.Boolean,
  /** The consent that the service itself recorded for a caller without a key. */
  quote_consent: Schema.NullOr(QuoteConsent),
  read_handle: Schema.NullOr(KeptHandle)
})
export type ApplicationRecord = typeof ApplicationRecord.Type

/** Applications in storage, by id, and listed by request. */
export const kind = Kind.make({
  name: "application",
  schema: ApplicationRecord,
  kept_for: { period: "facts", clock: "workspace" },
  listing: ({ quote_request_id }) => ({ parent: quote_request_id })
})

const purpose = (id: ApplicationId) => `application ${id}`

/** Seals the facts of an application. */
export const seal = (sealer: Seal["Service"], id: ApplicationId, application: Application): Effect.Effect<string> =>
  sealer.seal(purpose(id), JSON.stringify(application))

/** Opens the facts of an application and adds the assumed ones; null if they were altered. */
export const open = (
  sealer: Seal["Service"],
  line: Line,
  record: ApplicationRecord
): Effect.Effect<Assumed | null, StorageUnavailable> =>
  Effect.map(sealer.open(purpose(record.id), record.sealed), (text) =>
    text === null ? null : line.complete(Json.decode(Json.fromText<Application>(text)).facts, record.assumed_on)
  )

/** The stored record. `at` in milliseconds of workspace time. */
export const toStored = (record: ApplicationRecord, at: number): StoredRecord =>
  kind.record(record, { id: record.id, version: 1, created_at: at, updated_at: at })
