import type { CarrierOffer } from "../carriers/Carrier.ts"
import * as Event from "../events/Event.ts"
import type { Line } from "../lines/Line.ts"
import type { LineSet } from "../lines/Lines.ts"
import * as JobPayload from "../runner/JobPayload.ts"
import type { Change, NewEvent, StoredRecord } from "../storage/Change.ts"
import type { Ids } from "../wire/Ids.ts"
import { minute_ms } from "../wire/Timestamp.ts"
import * as Quote from "./Quote.ts"

/** The parts that a step of quoting adds to a change. */
export type Part = Pick<Change, "writes" | "events" | "jobs">

/** What a change of a quote needs to know of its line. */
type QuotedLine = Pick<Line, "name" | "has_quote_events">

/** The event of a quote's version; none on lines that have only events of quote requests (api.md, Events). */
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
          resource: { type: "quote", id: quote.id, version: quote.version }
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
  /** Whether the timers of this quote are ordered with those of the workspace. */
  readonly ordered: boolean
}

/** A carrier is never asked to refresh an offer sooner than this, whatever it asks for. */
const min_refresh_ms = minute_ms

/** Stores a new or newer version of a quote, with its event and its timers. */
export const quoteVersionChange = (ids: Ids["Service"], made: NewQuoteVersion): Part => {
  const { quote, offer, at, ordered } = made
  const kept: Quote.OfferRecord = {
    carrier_id: made.carrier_id,
    offer_ref: offer.offer_ref,
    handoff_url: offer.handoff_url
  }
  const stored = Quote.toStored(quote, made.line.name, made.created_at, at)
  const timer = (kind: "expire_quote" | "refresh_quote", due_at: number) =>
    JobPayload.make(kind, { quote_id: quote.id }, { due_at, ordered })
  return {
    writes: [stored, Quote.storedOffer(kept, quote, at)],
    events: quoteEvents(ids, quote.version === 1 ? "quote.created" : "quote.updated", quote, made.line, at),
    jobs: [
      ...(stored.expires_at === null ? [] : [timer("expire_quote", stored.expires_at)]),
      ...(offer.refresh_after_ms === undefined
        ? []
        : [timer("refresh_quote", at + Math.max(min_refresh_ms, offer.refresh_after_ms))])
    ]
  }
}

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

/** The line of a stored quote. Quotes of a line that the host offers no more still end, and with an event. */
export const lineOf = (lines: LineSet, stored: StoredRecord): QuotedLine => {
  const name = stored.line ?? ""
  return lines.get(name) ?? { name, has_quote_events: true }
}
