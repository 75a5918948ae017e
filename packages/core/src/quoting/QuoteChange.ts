import type { CarrierOffer } from "../carriers/Carrier.ts"
import * as Event from "../events/Event.ts"
import type { Line } from "../lines/Line.ts"
import type { LineSet } from "../lines/Lines.ts"
import * as JobPayload from "../runner/JobPayload.ts"
import type { Change, NewEvent, StoredRecord } from "../storage/Change.ts"
import type { JobQueue, NewJob } from "../storage/Job.ts"
import type { Ids } from "../wire/Ids.ts"
import { dayMs, minuteMs } from "../wire/Timestamp.ts"
import * as Quote from "./Quote.ts"

/** The parts that a step of quoting adds to a change. */
export type Part = Pick<Change, "writes" | "events" | "jobs">

/** What a change of a quote needs to know about its line. */
type QuotedLine = Pick<Line, "name" | "has_quote_events">

/** The event of a quote's version; none on lines that have only events of quote requests (api.md, Event types). */
export const quoteEvents = (
  ids: Ids["Service"],
  type: "quote.created" | "quote.updated" | "quote.expired",
  quote: Quote.Quote,
  line: QuotedLine,
  at: number
): ReadonlyArray<NewEvent> =>
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

/** A version of a quote from a carrier's offer, and when its first version was created. */
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

/** An offer is never refreshed sooner than this, whatever the carrier requests. */
const minRefreshMs = minuteMs
/** An offer is never refreshed later than this, because a later time may not be a valid date. */
const maxRefreshMs = 366 * dayMs

/** Stores a new or newer version of a quote, with its event and its timers. */
export const quoteVersionChange = (ids: Ids["Service"], made: NewQuoteVersion): Part => {
  const { quote, offer, at, queue } = made
  const kept: Quote.OfferRecord = {
    carrier_id: made.carrier_id,
    offer_ref: offer.offer_ref,
    handoff_url: offer.handoff_url
  }
  const stored = Quote.toStored(quote, made.line.name, made.created_at, at)
  return {
    writes: [stored, Quote.storedOffer(kept, quote, at)],
    events: quoteEvents(ids, quote.version === 1 ? "quote.created" : "quote.updated", quote, made.line, at),
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

/** The last version of a quote that is no longer available, with its event. */
export const deactivationChange = (
  ids: Ids["Service"],
  line: QuotedLine,
  stored: StoredRecord,
  reason: "expired" | "withdrawn_by_carrier",
  at: number
): Part => {
  const quote = Quote.deactivate(Quote.kind.value(stored), reason)
  return {
    writes: [Quote.toStored(quote, line.name, stored.created_at, at)],
    events: quoteEvents(ids, reason === "expired" ? "quote.expired" : "quote.updated", quote, line, at),
    jobs: []
  }
}

/** The line of a stored quote. Quotes of a line that the host no longer offers still end, with an event. */
export const lineOf = (lines: LineSet, stored: StoredRecord): QuotedLine => {
  const name = stored.line ?? ""
  return lines.get(name) ?? { name, has_quote_events: true }
}
