import { DateTime, Schema } from "effect"

/** A moment on the wire: RFC 3339 in UTC (api.md, Resources). */
export const Timestamp = Schema.String.annotate({ format: "date-time" })
/** A moment on the wire: RFC 3339 in UTC. */
export type Timestamp = typeof Timestamp.Type

/** Writes milliseconds since 1970 as a wire timestamp. */
export const fromMillis = (millis: number): Timestamp => DateTime.formatIso(DateTime.makeUnsafe(millis))

/** Reads a wire timestamp that this service has written, as milliseconds since 1970. */
export const toMillis = (timestamp: Timestamp): number => DateTime.toEpochMillis(DateTime.makeUnsafe(timestamp))

/** A second, a minute, an hour and a day in milliseconds. */
export const second_ms = 1_000
export const minute_ms = 60 * second_ms
export const hour_ms = 60 * minute_ms
export const day_ms = 24 * hour_ms
