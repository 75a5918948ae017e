import { DateTime, Duration } from "effect"

/*
 * Calendar dates (`YYYY-MM-DD`) and months (`YYYY-MM`) as text. They sort chronologically.
 */

const form = /^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])$/

/** The year of a date or month. */
export const yearOf = (day: string): number => Number(day.slice(0, 4))

/** The month of a date, as `YYYY-MM`. */
export const monthOf = (day: string): string => day.slice(0, 7)

const monthNumber = (day: string): number => Number(day.slice(5, 7))

const isLeap = (year: number): boolean => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0

const daysIn = (year: number, month: number): number => {
  if (month === 2) return isLeap(year) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

/** Whether text is an existing date. February 30 does not exist. */
export const isCalendarDay = (text: string): boolean =>
  form.test(text) && Number(text.slice(8)) <= daysIn(yearOf(text), monthNumber(text))

/** The date in UTC at a moment. */
export const dayOf = (millis: number): string => new Date(millis).toISOString().slice(0, 10)

/** The date this many days later. */
export const addDays = (day: string, days: number): string =>
  DateTime.formatIsoDateUtc(DateTime.add(DateTime.makeUnsafe(day), { days }))

/** The number of days from one date to another. */
export const daysBetween = (from: string, to: string): number =>
  Duration.toDays(DateTime.distance(DateTime.makeUnsafe(from), DateTime.makeUnsafe(to)))

/** The number of months from one date or month to another. Days are ignored. */
export const monthsBetween = (from: string, to: string): number =>
  12 * (yearOf(to) - yearOf(from)) + monthNumber(to) - monthNumber(from)

/** Completed years from a birthday to a date. The result is negative if the birthday is after the date. */
export const ageInYears = (born: string, today: string): number => {
  const years = yearOf(today) - yearOf(born)
  return today.slice(5) < born.slice(5) ? years - 1 : years
}
