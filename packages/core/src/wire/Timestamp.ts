import { DateTime, Option, Schema } from "effect"
import { isCalendarDay } from "./CalendarDay.ts"

/* Timestamps as text on the wire, and durations in milliseconds. */

/** A timestamp on the wire: RFC 3339 in UTC (api.md, Timestamps). */
export const Timestamp = Schema.String.annotate({ format: "date-time" })
/** A timestamp on the wire: RFC 3339 in UTC. */
export type Timestamp = typeof Timestamp.Type

/** Writes milliseconds since 1970 as a wire timestamp. */
export const fromMillis = (millis: number): Timestamp => new Date(millis).toISOString()

/**
 * Writes a `Date` as a timestamp. An invalid date becomes text that is not a timestamp, so that a later check refuses
 * it.
 */
export const fromDate = (date: Date): string =>
  Number.isNaN(date.getTime()) ? String(date) : fromMillis(date.getTime())

const rfc3339 = /^\d{4}-\d{2}-\d{2}T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/

/** A timestamp from a caller: RFC 3339 with an offset. Other formats that the runtime could parse are refused. */
export const OffsetDateTime = Schema.String.annotate({ format: "date-time" }).check(
  Schema.makeFilter(
    (text) => rfc3339.test(text) && isCalendarDay(text.slice(0, 10)) && Option.isSome(DateTime.make(text)),
    { expected: "an RFC 3339 date and time with its offset" }
  )
)

/** Converts a wire timestamp to milliseconds since 1970. The timestamp must be valid. */
export const toMillis = (timestamp: Timestamp): number => Date.parse(timestamp)

// Durations in milliseconds.
export const secondMs = 1_000
export const minuteMs = 60 * secondMs
export const hourMs = 60 * minuteMs
export const dayMs = 24 * hourMs
