import * as Dollars from "./Dollars.ts"

/** The maximum number of list items that a summary includes. */
export const maxItems = 6

/** Joins the first items of a list, and says how many more exist. */
export const joinFirst = (items: ReadonlyArray<string>, separator: string): string =>
  items.length <= maxItems
    ? items.join(separator)
    : `${items.slice(0, maxItems).join(separator)}${separator}and ${items.length - maxItems} more`

/** Formats a number and what it counts, such as "1 quote" or "3 quotes". */
export const count = (number: number, noun: string, plural = `${noun}s`): string =>
  number === 1 ? `1 ${noun}` : `${number} ${plural}`

/** Formats a code as words: `policy_fee` becomes "policy fee". */
export const words = (code: string): string => code.replaceAll("_", " ")

/** Formats an amount in dollars. Omits the cents of a whole amount. */
export const dollars = ({ amount_minor }: { readonly amount_minor: number }): string =>
  amount_minor % 100 === 0 ? Dollars.formatWhole(amount_minor) : Dollars.format(amount_minor)

/** Says how to get the next page, if there is one. */
export const more = (nextCursor: string | null): string =>
  nextCursor === null ? "This is the end of the list." : "There is more: call again with cursor set to next_cursor."
