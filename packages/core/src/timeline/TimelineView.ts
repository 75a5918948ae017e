import { Schema } from "effect"
import { RequestLogEntry } from "../calls/FinishedCall.ts"
import { ResourceType } from "../events/Event.ts"
import { QuoteConsent } from "../quoting/Consent.ts"
import * as QuoteRequest from "../quoting/QuoteRequest.ts"
import * as Delivery from "../webhooks/records/Delivery.ts"
import { QuoteRequestId, SubscriptionId } from "../wire/Ids.ts"
import { Timestamp } from "../wire/Timestamp.ts"
import type { Entry, Timeline } from "./Timeline.ts"

/** Makes the schema for entries of one kind. */
const entry = <const What extends string, Details extends Schema.Top>(what: What, meaning: string, details: Details) =>
  Schema.Struct({
    at: Timestamp.annotateKey({ description: "When it happened, in the time of the workspace" }),
    what: Schema.Literal(what).annotateKey({ description: meaning }),
    details: details.annotateKey({ description: "What is known about it" })
  })

const carrier = { carrier_id: Schema.String.annotateKey({ description: "The carrier" }) }
const { message, missing_facts, outcome, quote_ids, reason } = QuoteRequest.CarrierResult.fields

/** One thing that happened to a quote request. */
const TimelineEntry = Schema.Union([
  entry("call", "The call that started the request, if the request log has it", RequestLogEntry),
  entry("consent", "The person agreed, by the service's own record", QuoteConsent),
  entry("not_asked", "A carrier was not asked", Schema.Struct({ ...carrier, reason, missing_facts })),
  entry("asked", "A carrier was selected to be asked", Schema.Struct(carrier)),
  entry(
    "circuit",
    "The open circuit of a failing carrier kept it from being asked, or the outcome of an ask changed the circuit",
    Schema.Struct({
      ...carrier,
      circuit: Schema.Literals(["kept_out", "opened", "stays_open", "closed"]).annotateKey({
        description: "`kept_out`: the carrier was not asked; otherwise how the circuit changed"
      }),
      since: Timestamp.annotateKey({ description: "When the circuit opened, in real time" }),
      until: Schema.NullOr(Timestamp).annotateKey({
        description: "Until when the carrier is not asked, in real time; null if the circuit is closed"
      })
    })
  ),
  entry(
    "erased",
    "The person's data was erased",
    Schema.Struct({
      state: Schema.Literals(["begun", "done"]).annotateKey({
        description: "`begun`: some of the data may still be there"
      }),
      ended: Schema.Boolean.annotateKey({ description: "Whether that ended a request in progress" }),
      quotes: Schema.Int.annotateKey({ description: "How many quotes there were" })
    })
  ),
  entry(
    "outcome",
    "The outcome of a carrier's part in the request",
    Schema.Struct({ ...carrier, outcome, reason, message, missing_facts, quote_ids })
  ),
  entry(
    "quote",
    "A version of a quote",
    Schema.Struct({
      ...carrier,
      quote_id: Schema.String.annotateKey({ description: "The quote" }),
      version: Schema.Int.annotateKey({ description: "Its version" }),
      status: Schema.Literals(["active", "inactive"]).annotateKey({ description: "The status of this version" }),
      reason: Schema.String.annotateKey({ description: "The reason for the status" })
    })
  ),
  entry(
    "event",
    "An event of the request or of one of its quotes",
    Schema.Struct({
      id: Schema.String.annotateKey({ description: "The event" }),
      type: Schema.String.annotateKey({ description: "Its type" }),
      resource: Schema.Struct({
        id: Schema.String.annotateKey({ description: "The resource that changed" }),
        type: ResourceType.annotateKey({ description: "The kind of resource" }),
        version: Schema.Int.annotateKey({ description: "The version that it reached" })
      }).annotateKey({ description: "What the event is about" })
    })
  ),
  entry(
    "delivery",
    "The delivery of such an event to a subscription",
    Schema.Struct({
      subscription_id: SubscriptionId.annotateKey({ description: "The subscription" }),
      event_id: Delivery.Delivery.fields.event_id,
      event_type: Delivery.Delivery.fields.event_type,
      status: Delivery.Delivery.fields.status,
      attempts: Delivery.Delivery.fields.attempts
    })
  )
]).annotate({ identifier: "QuoteRequestTimelineEntry" })
type TimelineEntry = typeof TimelineEntry.Type

/** A page of what happened to a quote request (api.md, Timeline of a quote request). */
export const QuoteRequestTimeline = Schema.Struct({
  quote_request_id: QuoteRequestId.annotateKey({ description: "The quote request" }),
  entries: Schema.Array(TimelineEntry).annotateKey({ description: "What happened, oldest first" }),
  next_cursor: Schema.NullOr(Schema.String).annotateKey({
    description: "The `cursor` of the next page; null on the last one"
  }),
  incomplete: Schema.Array(Schema.String).annotateKey({
    description: "The kinds of entry that may be incomplete, because there was too much to search"
  })
}).annotate({ identifier: "QuoteRequestTimeline" })
export type QuoteRequestTimeline = typeof QuoteRequestTimeline.Type

/** The page for a caller with a key. It leaves out exchanges with carriers, and who erased data. */
export const of = (
  { entries, incomplete, quote_request_id }: Omit<Timeline, "next">,
  next_cursor: string | null
): QuoteRequestTimeline => ({
  quote_request_id,
  entries: entries.flatMap(viewOf),
  next_cursor,
  incomplete: incomplete.filter((entryKind) => entryKind !== "exchange")
})

const viewOf = (timelineEntry: Entry): ReadonlyArray<TimelineEntry> => {
  switch (timelineEntry.what) {
    case "exchange":
      return []
    case "circuit": {
      const { why: _, ...details } = timelineEntry.details
      return [{ ...timelineEntry, details }]
    }
    case "erased": {
      const { by: _, ...details } = timelineEntry.details
      return [{ ...timelineEntry, details }]
    }
    default:
      return [timelineEntry]
  }
}
