import { DateTime, Option, Schema } from "effect"

/*
 * Moments and calendar days as text on the wire, and durations in milliseconds.
 */

/** A timestamp on the wire: RFC 3339 in UTC (api.md, Resources). */
export const Timestamp = Schema.String.annotate({ format: "date-time" })
/** A timestamp on the wire: RFC 3339 in UTC. */
export type Timestamp = typeof Timestamp.Type

/** Writes milliseconds since 1970 as a wire timestamp. */
export const fromMillis = (millis: number): Timestamp => new Date(millis).toISOString()

const rfc3339 = /^\d{4}-\d{2}-\d{2}T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/

/** A timestamp that callers send: RFC 3339 with an offset. Other formats that the runtime could parse are refused. */
export const OffsetDateTime = Schema.String.annotate({ format: "date-time" }).check(
  Schema.makeFilter(
    (text) => rfc3339.test(text) && isCalendarDate(text.slice(0, 10)) && Option.isSome(DateTime.make(text)),
    { expected: "an RFC 3339 date and time with its offset" }
  )
)

/** Reads a wire timestamp that has the right form, as milliseconds since 1970. */
export const toMillis = (timestamp: Timestamp): number => Date.parse(timestamp)

// Durations in milliseconds.
export const second_ms = 1_000
export const minute_ms = 60 * second_ms
export const hour_ms = 60 * minute_ms
export const day_ms = 24 * hour_ms

/*
 * Calendar days, `YYYY-MM-DD`, and months, `YYYY-MM`, as text. They sort chronologically.
 */

const digits = (text: string, from: number, to: number): number => Number(text.slice(from, to))

const isLeap = (year: number): boolean => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0

const daysIn = (year: number, month: number): number => {
  if (month === 2) return isLeap(year) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

const form = /^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])$/

/** Whether text is a day that exists. 30 February does not. */
export const isCalendarDate = (text: string): boolean =>
  form.test(text) && digits(text, 8, 10) <= daysIn(digits(text, 0, 4), digits(text, 5, 7))

const write = (year: number, month: number, day: number): string =>
  `${String(year).padStart(4, "0")}-${String(month).padStart(2, "0")}-${String(day).padStart(2, "0")}`

/** The date a number of days later. `days` must not be negative. */
export const addDays = (date: string, days: number): string => {
  let year = digits(date, 0, 4)
  let month = digits(date, 5, 7)
  let day = digits(date, 8, 10) + days
  for (let length = daysIn(year, month); day > length; length = daysIn(year, month)) {
    day -= length
    month = month === 12 ? 1 : month + 1
    if (month === 1) year += 1
  }
  return write(year, month, day)
}

/** Completed years from a birthday to a day; negative if the birthday is more than a year ahead. */
export const ageInYears = (born: string, today: string): number => {
  const years = digits(today, 0, 4) - digits(born, 0, 4)
  return today.slice(5) < born.slice(5) ? years - 1 : years
}

/** The month of a day, `YYYY-MM`. */
export const monthOf = (date: string): string => date.slice(0, 7)
