import { day_ms, fromMillis, toMillis } from "../wire/Timestamp.ts"

/*
 * Calendar days. A carrier's day is the UTC day of the quote request, so that the price of a request does not change at
 * midnight.
 */

/** The calendar day of a moment, in UTC. */
export const dayOf = (millis: number): string => fromMillis(millis).slice(0, 10)

/** The year of a day or month. */
export const yearOf = (day: string): number => Number(day.slice(0, 4))

/** Calendar months from one day to another. Days of the month do not count. */
export const monthsBetween = (from: string, to: string): number =>
  12 * (yearOf(to) - yearOf(from)) + Number(to.slice(5, 7)) - Number(from.slice(5, 7))

const midnight = (day: string): number => toMillis(`${day}T00:00:00Z`)

/** Days from one day to another. */
export const daysBetween = (from: string, to: string): number => (midnight(to) - midnight(from)) / day_ms
