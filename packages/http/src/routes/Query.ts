import type { ApiError, Operation } from "@quotewire/core"

/** A parsed query: the value of each valid parameter, and the errors of the invalid ones. */
export interface Query {
  readonly values: ReadonlyMap<string, string | number>
  readonly refused: ReadonlyArray<ApiError.FieldError>
}

/**
 * Parses a query, each parameter by its type.
 *
 * Unknown parameters and values that do not match their type stay strings, and the operation's schema refuses them at
 * their paths. Parameters that are repeated or have invalid percent encoding are refused here, because they have no
 * single value.
 */
export const read = (query: string, types: Readonly<Record<string, Operation.QueryType>>): Query => {
  const values = new Map<string, string | number>()
  const refused = new Map<string, string>()
  for (const pair of query.split("&")) {
    if (pair === "") continue
    const mark = pair.indexOf("=")
    const encoded = mark < 0 ? pair : pair.slice(0, mark)
    const name = decode(encoded) ?? encoded
    const text = mark < 0 ? "" : decode(pair.slice(mark + 1))
    if (text === null || decode(encoded) === null) refused.set(name, "Must be UTF-8 in percent encoding.")
    else if (values.has(name)) refused.set(name, "Must be sent once.")
    else values.set(name, valueOf(text, Object.hasOwn(types, name) ? types[name] : "string"))
  }
  return { values, refused: Array.from(refused, ([path, message]) => ({ path, message })) }
}

const decode = (text: string): string | null => {
  try {
    return decodeURIComponent(text.replaceAll("+", " "))
  } catch {
    return null
  }
}

const valueOf = (text: string, type: Operation.QueryType | undefined): string | number =>
  type === "integer" && wholeNumber.test(text) ? exact(Number(text)) : text

const wholeNumber = /^-?\d+$/

/** Clamps a number to the safe integer range. Any number beyond it means the same thing: more than could ever exist. */
const exact = (number: number): number => Math.min(Math.max(number, Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER)
