import { Schema } from "effect"
import { Environment } from "../../access/Caller.ts"
import type { StoredRecord } from "../../storage/Change.ts"
import * as Kind from "../../storage/Kind.ts"
import { ApplicationId, OrganizationId, QuoteRequestId } from "../../wire/Ids.ts"
import { textUpTo } from "../../wire/Input.ts"
import { fromMillis, Timestamp, toMillis } from "../../wire/Timestamp.ts"
import * as Quote from "../Quote.ts"
import * as QuoteRequest from "../QuoteRequest.ts"

/**
 * The input for erasing one quote request. If an organization and environment are given, only their workspace is
 * searched.
 */
export const RequestTarget = Schema.Struct({
  quote_request_id: textUpTo(128, 1),
  organization_id: Schema.optionalKey(OrganizationId),
  environment: Schema.optionalKey(Environment)
})

/**
 * The input for erasing all quote requests in one environment of an organization that were started with a consent
 * receipt.
 */
export const ReceiptTarget = Schema.Struct({
  consent_receipt_id: textUpTo(128, 1),
  organization_id: OrganizationId,
  environment: Environment
})

/** What to erase, as sent: one quote request, or all requests that were started with a consent receipt. */
export type ErasureTarget = typeof RequestTarget.Encoded | typeof ReceiptTarget.Encoded

const By = textUpTo(200, 1).check(Schema.isPattern(/\S/u, { expected: "non-blank text" }))

/** The options of an erasure. */
export const ErasureOptions = Schema.Struct({
  /**
   * Who erases the data, or the ticket that requests the erasure: 1 to 200 characters. The text is kept for years, so
   * it must not name the person.
   */
  by: By,
  /** If true, reports what would be erased, and changes nothing. */
  dry_run: Schema.optionalKey(Schema.Boolean)
})

/** The options of a dry run. */
export const DryRunOptions = Schema.Struct({ by: Schema.optionalKey(By), dry_run: Schema.Literal(true) })

/** The options of an erasure. A dry run stores nothing, so `by` is optional for it. */
export type ErasureOptions = typeof ErasureOptions.Type | typeof DryRunOptions.Type

/** The record of an erasure. It outlives the quote request, and contains nothing about the person. */
export const ErasureRecord = Schema.Struct({
  quote_request_id: QuoteRequestId,
  application_id: ApplicationId,
  /** `begun` if the facts may still be stored, because the process that was erasing them was stopped. */
  state: Schema.Literals(["begun", "done"]),
  /** When the data was erased, in workspace time. */
  erased_at: Timestamp,
  by: Schema.String,
  /** Whether the request was still in progress and the erasure ended it. */
  ended: Schema.Boolean,
  /** How many quotes the request has. */
  quotes: Schema.Int
})
export type ErasureRecord = typeof ErasureRecord.Type

/**
 * The record kind for erasures, keyed by their quote request's ID. The records have no parent, so that they outlive the
 * request.
 */
export const kind = Kind.make({
  name: "erasure",
  schema: ErasureRecord,
  sealed: true,
  kept_for: { period: "consents", clock: "workspace" }
})

/** The stored record of an erasure: version 1 when the erasure begins, version 2 when it is done. */
export const toStored = (record: ErasureRecord): StoredRecord => {
  const at = toMillis(record.erased_at)
  const version = record.state === "begun" ? 1 : 2
  return kind.record(record, { id: record.quote_request_id, version, created_at: at, updated_at: at })
}

/** Makes the record of an erasure that begins at `at`, in milliseconds of workspace time. */
export const begin = (
  request: QuoteRequest.QuoteRequest,
  { at, by, quotes }: { readonly at: number; readonly by: string; readonly quotes: number }
): ErasureRecord => ({
  quote_request_id: request.id,
  application_id: request.application_id,
  state: "begun",
  erased_at: fromMillis(at),
  by,
  ended: !QuoteRequest.isFinal(request),
  quotes
})

/** What an erasure did, or would do, to one quote request. */
export interface ErasedRequest {
  readonly quote_request_id: QuoteRequestId
  /** `to_erase` is the outcome of a dry run. */
  readonly outcome: "erased" | "already_erased" | "to_erase"
  /** When the request's data was erased, as RFC 3339 in workspace time; null if it is not erased yet. */
  readonly erased_at: Timestamp | null
  /** Who erased the data, as given in `by`; null if the data is not erased yet. */
  readonly by: string | null
  /** Whether the request was still in progress, so that the erasure ends it. */
  readonly ended: boolean
  /** How many quotes the request has. Their prices remain. */
  readonly quotes: number
}

/** What an erasure did, or would do. If nothing was found, all counts are 0; that is not an error. */
export interface ErasureReport {
  /** How many quote requests this call erased. */
  readonly erased: number
  /** How many quote requests were erased earlier. */
  readonly already_erased: number
  /** How many quote requests would be erased; only in a dry run. */
  readonly to_erase: number
  /** The requests, oldest first, at most 1,000 of them. The counts include all requests. */
  readonly requests: ReadonlyArray<ErasedRequest>
}

/** Makes the result for one request from its erasure's record. */
export const resultOf = (record: ErasureRecord, outcome: ErasedRequest["outcome"]): ErasedRequest => ({
  quote_request_id: record.quote_request_id,
  outcome,
  erased_at: outcome === "to_erase" ? null : record.erased_at,
  by: outcome === "to_erase" ? null : record.by,
  ended: record.ended,
  quotes: record.quotes
})

const maxListed = 1_000

/** An empty report. */
export const nothing: ErasureReport = { erased: 0, already_erased: 0, to_erase: 0, requests: [] }

/** Adds a request's result to a report. */
export const add = (report: ErasureReport, result: ErasedRequest): ErasureReport => ({
  ...report,
  [result.outcome]: report[result.outcome] + 1,
  requests: report.requests.length < maxListed ? [...report.requests, result] : report.requests
})

/**
 * The last step of a request. A request in progress fails, and carriers' words about the person are removed. Null if
 * the request is final and contains no such words.
 */
export const endRequest = (request: QuoteRequest.QuoteRequest, now: number): QuoteRequest.Step | null => {
  const carriers = request.carriers.map(withoutCarrierText)
  if (!QuoteRequest.isFinal(request)) return QuoteRequest.fail({ ...request, carriers }, "consent_withdrawn", now)
  if (carriers.every((result, index) => result === request.carriers[index])) return null
  return {
    request: { ...request, carriers, version: request.version + 1, updated_at: fromMillis(now) },
    event: "quote_request.updated"
  }
}

/**
 * Removes the carrier's own words from a result. If the carrier was not asked, `missing_facts` stays, because it comes
 * from the carrier's declaration.
 */
const withoutCarrierText = (result: QuoteRequest.CarrierResult): QuoteRequest.CarrierResult => {
  const missing_facts = result.outcome === "not_asked" ? result.missing_facts : []
  return result.message === null && missing_facts.length === result.missing_facts.length
    ? result
    : { ...result, message: null, missing_facts }
}

/** The last version of a quote, and the type of its event. */
export interface LastVersion {
  readonly quote: Quote.Quote
  readonly event: "quote.expired" | "quote.updated"
}

/** The code that replaces a carrier's own code for a fee. */
const feeCode = "fee"

/**
 * Makes the last version of a quote, with amounts, carrier and dates, but without the insured subjects and without the
 * carrier's own words. An available quote becomes unavailable; an unavailable quote keeps its reason.
 */
export const lastVersion = (quote: Quote.Quote, now: number): LastVersion => {
  const hasExpired = Quote.hasExpired(quote, now)
  const inactive = Quote.deactivate(quote, hasExpired ? "expired" : "consent_withdrawn")
  return {
    quote: {
      ...inactive,
      status_details: quote.status === "inactive" ? quote.status_details : inactive.status_details,
      source: { ...quote.source, product: null },
      price: {
        ...quote.price,
        billing_cycle: null,
        fees: quote.price.fees.map(({ amount }) => ({ code: feeCode, amount }))
      },
      coverage: { conditions: [], subjects: [] },
      evidence: { source_time: quote.evidence.source_time, assumptions: [], label: "The person's data was erased." }
    },
    event: hasExpired ? "quote.expired" : "quote.updated"
  }
}
