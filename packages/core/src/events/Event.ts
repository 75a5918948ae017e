import { Schema } from "effect"
import { Environment } from "../access/Caller.ts"
import { EventId } from "../Ids.ts"
import { Line } from "../quoting/Line.ts"
import type { NewEvent } from "../storage/Change.ts"
import { fromMillis, Timestamp } from "../Timestamp.ts"

/** Every type of event, in the order of the table (api.md, Event types). New ones can appear at any time. */
export const types = [
  "quote_request.queued",
  "quote_request.updated",
  "quote_request.completed",
  "quote_request.failed",
  "quote_request.cancelled",
  "quote_request.incomplete",
  "quote.created",
  "quote.updated",
  "quote.expired",
  "purchase.updated",
  "purchase.requires_action",
  "purchase.completed",
  "purchase.needs_review",
  "purchase.failed",
  "webhook.test"
] as const

/** The types of event that fire. */
export type EventType = Exclude<(typeof types)[number], `purchase.${string}` | "webhook.test">

/** A thin event: it names a resource and the version that it reached, and nothing about a person. */
export const Event = Schema.Struct({
  id: EventId,
  type: Schema.String.annotate({ description: `One of ${types.join(", ")}; new types can appear at any time` }),
  occurred_at: Timestamp,
  environment: Environment,
  line: Line,
  resource: Schema.Struct({
    type: Schema.Literals(["quote_request", "quote"]),
    id: Schema.String,
    version: Schema.Int
  })
}).annotate({ identifier: "Event" })
export type Event = typeof Event.Type

/** Encodes an event for the feed. `at` is in milliseconds of workspace time. */
export const record = (options: {
  readonly id: EventId
  readonly type: EventType
  readonly at: number
  readonly environment: Environment
  readonly line: Line
  readonly resource: Event["resource"]
}): NewEvent => {
  const event: Event = {
    id: options.id,
    type: options.type,
    occurred_at: fromMillis(options.at),
    environment: options.environment,
    line: options.line,
    resource: options.resource
  }
  return { id: options.id, occurred_at: options.at, body: JSON.stringify(event) }
}
