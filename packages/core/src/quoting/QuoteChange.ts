import type { CarrierOffer } from "../carriers/Carrier.ts"
import * as Event from "../events/Event.ts"
import type { Line } from "../lines/Line.ts"
import type { LineSet } from "../lines/Lines.ts"
import * as JobPayload from "../runner/JobPayload.ts"
import type { Change, NewEvent, StoredRecord } from "../storage/Change.ts"
import type { JobQueue, NewJob } from "../storage/Job.ts"
import type { Ids } from "../wire/Ids.ts"
import { dayMs, minuteMs } from "../wire/Timestamp.ts"
import * as OfferRecord from "./OfferRecord.ts"
import * as Quote from "./Quote.ts"

/* What a step about quotes adds to a change: the versions of quotes, with their events and timers. */

/** The parts of a change that a quoting step can add to. */
export type ChangePart = Pick<Change, "writes" | "events" | "jobs">

/** A part that changes nothing. */
export const emptyPart: ChangePart = { writes: [], events: [], jobs: [] }

/** The properties of a line that a change to a quote needs. */
type QuotedLine = Pick<Line, "name" | "has_quote_events">

/** The content of a quote event. */
export interface QuoteEvent {
  readonly type: "quote.created" | "quote.updated" | "quote.expired"
  readonly quote: Quote.Quote
  readonly line: QuotedLine
  readonly at: number
}

/**
 * The event for a version of a quote. Empty for lines that have no quote events, but only quote request events (api.md,
 * Event types).
 */
export const events = (ids: Ids["Service"], { at, line, quote, type }: QuoteEvent): ReadonlyArray<NewEvent> =>
  !line.has_quote_events
    ? []
    : [
        Event.record({
          id: ids.event(),
          type,
          at,
          environment: quote.environment,
          line: line.name,
          resource: { type: "quote", id: quote.id, version: quote.version },
          quote_request_id: quote.quote_request_id
        })
      ]

/** A version of a quote that was made from a carrier's offer, and when the quote's first version was created. */
export interface NewQuoteVersion {
  readonly quote: Quote.Quote
  readonly offer: CarrierOffer
  readonly carrier_id: string
  readonly line: Line
  readonly created_at: number
  readonly at: number
  /** How the job that refreshes the offer is queued. */
  readonly queue: JobQueue
}

/** The shortest time before an offer is refreshed, regardless of what the carrier requests. */
const minRefreshMs = minuteMs
/** The longest time before an offer is refreshed. A later time may not be a valid date. */
const maxRefreshMs = 366 * dayMs

/** Makes the change that stores a new quote or its next version, with the event and the timers. */
export const versionChange = (ids: Ids["Service"], newVersion: NewQuoteVersion): ChangePart => {
  const { quote, offer, at, queue } = newVersion
  const offerRecord: OfferRecord.OfferRecord = {
    carrier_id: newVersion.carrier_id,
    offer_ref: offer.offer_ref,
    handoff_url: offer.handoff_url
  }
  const stored = Quote.toStored(quote, newVersion.line.name, newVersion.created_at, at)
  return {
    writes: [stored, OfferRecord.toStored(offerRecord, quote, at)],
    events: events(ids, {
      type: quote.version === 1 ? "quote.created" : "quote.updated",
      quote,
      line: newVersion.line,
      at
    }),
    jobs: [
      ...(stored.expires_at === null ? [] : [expiry(quote, stored.expires_at)]),
      ...(offer.refresh_after_ms === undefined
        ? []
        : [
            JobPayload.make(
              "refresh_quote",
              { quote_id: quote.id },
              { due_at: at + Math.min(maxRefreshMs, Math.max(minRefreshMs, offer.refresh_after_ms)), ...queue }
            )
          ])
    ]
  }
}

const expiry = ({ environment, id }: Quote.Quote, due_at: number): NewJob =>
  JobPayload.make("expire_quote", { quote_id: id }, { due_at, ordered: environment === "sandbox" })

/** A stored quote that becomes unavailable, and why and when. */
export interface Deactivation {
  readonly stored: StoredRecord
  readonly line: QuotedLine
  readonly reason: "expired" | "withdrawn_by_carrier"
  readonly at: number
}

/** Makes the change that stores the last version of a quote that is no longer available, with its event. */
export const deactivationChange = (ids: Ids["Service"], { at, line, reason, stored }: Deactivation): ChangePart => {
  const quote = Quote.deactivate(Quote.kind.value(stored), reason)
  return {
    writes: [Quote.toStored(quote, line.name, stored.created_at, at)],
    events: events(ids, { type: reason === "expired" ? "quote.expired" : "quote.updated", quote, line, at }),
    jobs: []
  }
}

/** The line of a stored quote. If the host no longer offers the line, the quote still ends with an event. */
export const lineOf = (lines: LineSet, stored: StoredRecord): QuotedLine => {
  const name = stored.line ?? ""
  return lines.get(name) ?? { name, has_quote_events: true }
}
