import type { Environment } from "../access/Caller.ts"
import type { RequestLogEntry } from "../calls/FinishedCall.ts"
import type { StoredExchange } from "../carriers/recorder/StoredExchange.ts"
import type { Event } from "../events/Event.ts"
import type { CircuitNote } from "../quoting/asking/CircuitNote.ts"
import type { QuoteConsent } from "../quoting/Consent.ts"
import type { ErasureRecord } from "../quoting/erasing/Erasure.ts"
import type { CarrierResult, QuoteRequest } from "../quoting/QuoteRequest.ts"
import type { Attempt, StoredDelivery } from "../webhooks/records/Delivery.ts"
import type { QuoteId, QuoteRequestId, SubscriptionId, WorkspaceId } from "../wire/Ids.ts"
import { type Timestamp, toMillis } from "../wire/Timestamp.ts"

/** An entry: what happened at a time in the workspace, with details. */
type At<What extends string, Details> = { readonly at: Timestamp; readonly what: What; readonly details: Details }

/** One entry of a timeline. */
export type Entry =
  /** The call that started the request, if the request log has it. Its `details.created_at` is real time. */
  | At<"call", RequestLogEntry>
  /**
   * The person's agreement, from the service's own record: the text that the person agreed to, and how the person was
   * asked.
   */
  | At<"consent", QuoteConsent>
  /** A carrier that was not asked, and why. */
  | At<"not_asked", Pick<CarrierResult, "reason" | "missing_facts"> & OfCarrier>
  /**
   * A carrier's open circuit prevented the ask (`kept_out`), or the ask opened the circuit, kept it open, or closed it.
   * `since` and `until` are real time.
   */
  | At<"circuit", Pick<CircuitNote, "carrier_id" | "circuit" | "since" | "until" | "why">>
  /** A carrier was selected to be asked. The carrier's exchanges and outcome show whether it was actually asked. */
  | At<"asked", OfCarrier>
  /**
   * A recorded exchange with a carrier's adapter. Unless `bodies` is requested, all bodies are null.
   *
   * As in every entry, `at` is workspace time: when the work to which the exchange belongs began. `started_at`, when
   * the adapter was called, is real time. The two differ by a few milliseconds, and in a sandbox also by how far its
   * clock was moved.
   */
  | At<"exchange", StoredExchange>
  /**
   * The person's data was erased: by whom, how many quotes there were, and whether the erasure ended a request in
   * progress (`ended`). `begun`: the erasure was stopped, and some data may still be stored.
   */
  | At<"erased", Pick<ErasureRecord, "by" | "state" | "ended" | "quotes">>
  /** What one carrier answered, or why it did not answer. */
  | At<"outcome", Pick<CarrierResult, "outcome" | "reason" | "message" | "missing_facts" | "quote_ids"> & OfCarrier>
  /** A version of a quote. */
  | At<"quote", OfQuote>
  /** An event about the request or one of its quotes. */
  | At<"event", Pick<Event, "id" | "type" | "resource">>
  /** A delivery of an event about the request or one of its quotes, with its attempts, newest first. */
  | At<"delivery", OfDelivery>

interface OfCarrier {
  readonly carrier_id: string
}

interface OfQuote extends OfCarrier {
  readonly quote_id: QuoteId
  readonly version: number
  readonly status: "active" | "inactive"
  readonly reason: string
}

interface OfDelivery extends Pick<StoredDelivery, "event_id" | "event_type" | "status"> {
  readonly subscription_id: SubscriptionId
  readonly attempts: ReadonlyArray<Attempt>
}

/** A page of a quote request's history, oldest first. */
export interface Timeline {
  readonly quote_request_id: QuoteRequestId
  readonly workspace_id: WorkspaceId
  readonly environment: Environment
  readonly line: string
  readonly status: QuoteRequest["status"]
  readonly reason: string
  readonly entries: ReadonlyArray<Entry>
  /** How many entries to skip to get the next page; null on the last page. */
  readonly next: number | null
  /** The kinds of entries that may be incomplete, because the feed had too many events to search. */
  readonly incomplete: ReadonlyArray<Entry["what"]>
}

/** The order of entries that have the same time. */
const order: ReadonlyArray<Entry["what"]> = [
  "call",
  "consent",
  "not_asked",
  "asked",
  "exchange",
  "circuit",
  "erased",
  "outcome",
  "quote",
  "event",
  "delivery"
]

/** Sorts entries by time, and entries with the same time by `order`. */
export const sorted = (entries: ReadonlyArray<Entry>): ReadonlyArray<Entry> =>
  entries.toSorted((a, b) => toMillis(a.at) - toMillis(b.at) || rankOf(a) - rankOf(b))

/**
 * The event of an accepted request comes before everything that follows from the acceptance. Every other event comes
 * after the change that it reports.
 */
const rankOf = (entry: Entry): number =>
  order.indexOf(entry.what === "event" && entry.details.type === "quote_request.queued" ? "call" : entry.what)

/** The entries that follow from the carriers' results, which are part of the request. */
export const ofCarriers = ({ carriers, deadline_at, updated_at }: QuoteRequest): ReadonlyArray<Entry> => {
  const collectedAt = carriers.find(({ asked_at }) => asked_at !== null)?.asked_at ?? updated_at
  const endedAt = deadline_at === null || deadline_at > updated_at ? updated_at : deadline_at
  return carriers.flatMap((result): ReadonlyArray<Entry> => {
    const { answered_at, asked_at, missing_facts, outcome, reason } = result
    const carrierDetails = { carrier_id: result.carrier.id }
    if (outcome === "not_asked")
      return [{ at: collectedAt, what: "not_asked", details: { ...carrierDetails, reason, missing_facts } }]
    const askedEntries: ReadonlyArray<Entry> =
      asked_at === null ? [] : [{ at: asked_at, what: "asked", details: carrierDetails }]
    if (outcome === "pending") return askedEntries
    const { message, quote_ids } = result
    const details = { ...carrierDetails, outcome, reason, message, missing_facts, quote_ids }
    return [...askedEntries, { at: answered_at ?? endedAt, what: "outcome", details }]
  })
}

/** The entry for the consent that the service recorded for a start call. */
export const ofConsent = (details: QuoteConsent): Entry => ({ at: details.accepted_at, what: "consent", details })

/** The entry for the erasure of the person's data. The changes that the erasure makes have the same time. */
export const ofErasure = ({ by, ended, erased_at, quotes, state }: ErasureRecord): Entry => ({
  at: erased_at,
  what: "erased",
  details: { by, state, ended, quotes }
})

/** The entry for how a circuit affected the request, or how the request affected the circuit. */
export const ofCircuit = ({ at, quote_request_id: _, ...details }: CircuitNote): Entry => ({
  at,
  what: "circuit",
  details
})

/** The entry for an exchange. It includes bodies only if they are requested. */
export const ofExchange = (exchange: StoredExchange, hasBodies: boolean): Entry => ({
  at: exchange.at,
  what: "exchange",
  details: hasBodies ? exchange : { ...exchange, http: exchange.http.map(withoutBodies) }
})

const withoutBodies = (http: StoredExchange["http"][number]): StoredExchange["http"][number] => ({
  ...http,
  request: { ...http.request, body: null },
  response: http.response === null ? null : { ...http.response, body: null }
})
