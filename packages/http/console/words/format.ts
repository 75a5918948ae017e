/*
 * Formats amounts, numbers and times for display. Times are workspace times, shown in UTC and labeled as such.
 */

const dollars = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" })
const wholeDollars = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD", maximumFractionDigits: 0 })

/** An amount of money. Null means that the amount is unknown, not zero. */
export const money = (amount: { readonly amount_minor: number } | null | undefined): string => {
  if (amount === null || amount === undefined) return "unknown"
  const { amount_minor: cents } = amount
  return cents % 100 === 0 ? wholeDollars.format(cents / 100) : dollars.format(cents / 100)
}

const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" })
const clock = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  timeZone: "UTC"
})

/** A moment: `23 Nov 2026, 19:32:24 UTC`. */
export const moment = (time: string): string => `${day.format(new Date(time))}, ${clock.format(new Date(time))} UTC`

/** The time of day of a moment: `19:32:24`. */
export const timeOfDay = (time: string): string => clock.format(new Date(time))

/** A duration in the largest unit that fits: `320 ms`, `4.0 s`, `3 min`, `2 h`, `29 days`. */
export const duration = (ms: number): string => {
  const abs = Math.abs(ms)
  if (abs === 0) return "0 s"
  if (abs < 1_000) return `${Math.round(ms)} ms`
  if (abs < 100_000) return `${(ms / 1_000).toFixed(1)} s`
  if (abs < 5_400_000) return `${Math.round(ms / 60_000)} min`
  if (abs < 129_600_000) return `${Math.round(ms / 3_600_000)} h`
  return `${Math.round(ms / 86_400_000)} days`
}

/** A count and its noun: `1 quote`, `3 quotes`. */
export const count = (number: number, noun: string, plural = `${noun}s`): string =>
  `${number.toLocaleString("en-US")} ${number === 1 ? noun : plural}`

/** Shortens an ID to its first and last characters, because those are what people compare. */
export const shortId = (id: string): string => (id.length <= 18 ? id : `${id.slice(0, 10)}…${id.slice(-4)}`)

const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** Text from an untrusted source. Makes control characters, bidirectional marks and other hidden characters visible. */
export const visible = (text: string): string =>
  text.replaceAll(hidden, (character) => `\\u{${character.codePointAt(0)?.toString(16) ?? ""}}`)

/** A code as words: `risk_outside_guidelines` becomes `risk outside guidelines`. */
export const words = (code: string): string => code.replaceAll("_", " ")

/** A code as words, with a capital first letter. */
export const title = (code: string): string => {
  const text = words(code)
  return text.charAt(0).toUpperCase() + text.slice(1)
}
