import type { Operation } from "@quotewire/core"

/** A value of the query as the operation's schema reads it; a repeated parameter is a list, which no schema takes. */
export type QueryValue = string | number | ReadonlyArray<string | number>

/**
 * Reads a query, each parameter by its type.
 *
 * What is written unlike its type, and what is not known, stays text: the operation's schema refuses it at its path.
 */
export const read = (
  query: string,
  types: Readonly<Record<string, Operation.QueryType>>
): ReadonlyMap<string, QueryValue> => {
  const values = new Map<string, QueryValue>()
  if (query === "") return values
  const parameters = new URLSearchParams(query)
  for (const name of new Set(parameters.keys())) {
    const type = Object.hasOwn(types, name) ? types[name] : "string"
    const [first = "", ...others] = parameters.getAll(name).map((text) => valueOf(text, type))
    values.set(name, others.length === 0 ? first : [first, ...others])
  }
  return values
}

const valueOf = (text: string, type: Operation.QueryType | undefined): string | number =>
  type === "integer" && wholeNumber.test(text) ? Number(text) : text

/** At most 15 digits: every such number is exact. */
const wholeNumber = /^-?\d{1,15}$/
