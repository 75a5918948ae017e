import { Predicate, Result } from "effect"
import type { Fields } from "./JsonRpc.ts"

/** The JSON Schemas of a tool's arguments, by name. */
export type Shapes = Readonly<Record<string, object>>

/** The longest text that is parsed as an object. Longer text is left alone. */
const max_text = 64 * 1024

/**
 * Normalizes arguments that programs send in a different form.
 *
 * - `null` for a known argument, or inside one that is an object, means that it was left out.
 * - An object may be sent as JSON text.
 * - A whole number may be sent as text.
 *
 * Everything else is unchanged and will be checked. Booleans are never read from text, because they can be a consent.
 */
export const read = (shapes: Shapes, args: Fields): Fields =>
  Object.fromEntries(
    Object.entries(args).flatMap(([name, value]) => {
      const shape = Object.hasOwn(shapes, name) ? shapes[name] : undefined
      if (shape === undefined) return [[name, value]]
      return value === null ? [] : [[name, readAs(shape, value)]]
    })
  )

const readAs = (shape: object, value: unknown): unknown => {
  const type = "type" in shape ? shape.type : null
  if (type === "object") return withoutNulls(typeof value === "string" ? objectIn(value) : value)
  return type === "integer" && typeof value === "string" && wholeNumber.test(value) ? Number(value) : value
}

const wholeNumber = /^-?\d{1,15}$/

/** The object in a JSON text; the text itself if it is not one. */
const objectIn = (text: string): unknown => {
  if (text.length > max_text || !/^\s*\{/.test(text)) return text
  return Result.getOrElse(
    Result.try((): unknown => JSON.parse(text)),
    () => text
  )
}

/** The nesting that inputs may have. Deeper objects are refused when the input is checked. */
const max_depth = 32

/** Removes null members of objects. Items of a list stay, because removing one would change the index of others. */
const withoutNulls = (value: unknown, depth = 0): unknown => {
  if (depth > max_depth) return value
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item, depth + 1))
  if (!Predicate.isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) =>
      member === null ? [] : [[name, withoutNulls(member, depth + 1)]]
    )
  )
}
