import type { AnyOperation, FieldError } from "@quotewire/core/client"

/** What a field of a response must hold. */
type Kind = "a list" | "a number" | "text"

/**
 * The response fields that `events` and `wait_for_quotes` read. For example, without a cursor, `events` would read the
 * first page over and over without a pause.
 */
const fieldsRead: { readonly [Name in AnyOperation["name"]]?: Readonly<Record<string, Kind>> } = {
  list_events: { events: "a list", next_cursor: "text" },
  get_quote_request: { "quote_request.version": "a number", "quote_request.status": "text" }
}

/**
 * Finds the first field that the client itself needs and that is missing or wrong; null if all those fields are valid.
 */
export const missingField = (operation: AnyOperation["name"], answer: unknown): FieldError | null => {
  for (const [path, kind] of Object.entries(fieldsRead[operation] ?? {})) {
    if (kindOf(answer, path) !== kind) return { path, message: `Must be ${kind}.` }
  }
  return null
}

const kindOf = (answer: unknown, path: string): Kind | null => {
  const value = path.split(".").reduce(memberOf, answer)
  if (Array.isArray(value)) return "a list"
  if (typeof value === "number") return "a number"
  return typeof value === "string" ? "text" : null
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined
