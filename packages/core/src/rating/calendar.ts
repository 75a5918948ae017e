import { fromMillis } from "../wire/Timestamp.ts"

/*
 * Parts of calendar days. A carrier's day is the day in UTC on which the quote request was made, so that one request
 * has one price whatever midnight passes meanwhile.
 */

/** The calendar day of a moment, in UTC. */
export const dayOf = (millis: number): string => fromMillis(millis).slice(0, 10)

/** The year of a day or month. */
export const yearOf = (day: string): number => Number(day.slice(0, 4))

/** Calendar months from the month of one day to the month of another; days of the month do not count. */
export const monthsBetween = (from: string, to: string): number =>
  12 * (yearOf(to) - yearOf(from)) + Number(to.slice(5, 7)) - Number(from.slice(5, 7))
