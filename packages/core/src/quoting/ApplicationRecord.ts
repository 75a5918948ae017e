import { Effect } from "effect"
import type { KeptHandle } from "../access/ReadHandle.ts"
import type { Seal } from "../access/Seal.ts"
import type { Application, Assumed } from "../lines/Application.ts"
import type { Line } from "../lines/Line.ts"
import type { StoredRecord } from "../storage/Change.ts"
import { ValueRecord } from "../storage/ValueRecord.ts"
import type { ApplicationId, QuoteRequestId } from "../wire/Ids.ts"
import * as Json from "../wire/Json.ts"
import type { QuoteConsent, SentReceipt } from "./Consent.ts"

/** What is stored of an application: the facts sealed, and what goes with a start that no reader of quotes sees. */
export interface ApplicationRecord {
  readonly id: ApplicationId
  readonly quote_request_id: QuoteRequestId
  /** The facts as the caller sent them, sealed. What is assumed beside them follows from them and from `assumed_on`. */
  readonly sealed: string
  /** The workspace's day of the start, `YYYY-MM-DD`. */
  readonly assumed_on: string
  readonly credit_disclosed: boolean
  /** The receipt that the service itself has recorded, for a caller without a key. */
  readonly quote_consent: QuoteConsent | null
  readonly read_handle: KeptHandle | null
}

/** A keyed hash of a receipt that came along with a start: the evidence itself is with whoever spoke to the person. */
export interface KeptReceipt extends Omit<SentReceipt, "receipt"> {
  readonly mac: string
}

/** The consents of a start, in a record of their own: they are kept for years, the facts for a month. */
export const consentRecord = (
  { id, quote_request_id, quote_consent }: ApplicationRecord,
  receipts: ReadonlyArray<KeptReceipt>,
  at: number
): StoredRecord =>
  new ValueRecord(
    { application_id: id, quote_request_id, receipts, quote_consent },
    { kind: "consent", id, version: 1, created_at: at, updated_at: at }
  )

const purpose = (id: ApplicationId) => `application ${id}`

/** Seals the facts of an application. */
export const seal = (sealer: Seal["Service"], id: ApplicationId, application: Application): Effect.Effect<string> =>
  sealer.seal(purpose(id), JSON.stringify(application))

/** Opens the facts of an application and fills in the assumed ones; null where they cannot be read any more. */
export const open = (sealer: Seal["Service"], line: Line, record: ApplicationRecord): Effect.Effect<Assumed | null> =>
  Effect.map(sealer.open(purpose(record.id), record.sealed), (text) =>
    text === null ? null : line.complete(Json.decode(Json.fromText<Application>(text)).facts, record.assumed_on)
  )

/** The facts are read once more, by whoever asks the carriers, and seldom as text. */
class ApplicationValue extends ValueRecord<ApplicationRecord> {}

/** The record as storage keeps it. `at` in milliseconds of workspace time. */
export const toStored = (record: ApplicationRecord, at: number): StoredRecord =>
  new ApplicationValue(record, {
    kind: "application",
    id: record.id,
    version: 1,
    parent: record.quote_request_id,
    created_at: at,
    updated_at: at
  })

/** Reads what `toStored` has written. */
export const fromStored = (stored: StoredRecord): ApplicationRecord =>
  stored instanceof ApplicationValue ? stored.value : Json.decode(Json.fromText<ApplicationRecord>(stored.body))
