import { Predicate, Result } from "effect"
import type { Arguments } from "./Tool.ts"

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
 * Everything else stays as it is, to be checked. Yes and no are never read from text: they can be somebody's consent.
 * The arguments are changed in place: there may be thousands, and a copy takes longer than all checks.
 */
export const read = (shapes: Shapes, args: Arguments): void => {
  for (const [name, shape] of Object.entries(shapes)) {
    if (!Object.hasOwn(args, name)) continue
    if (args[name] === null) Reflect.deleteProperty(args, name)
    else args[name] = readAs(shape, args[name])
  }
}

const readAs = (shape: object, value: unknown): unknown => {
  const type = "type" in shape ? shape.type : null
  if (type === "object") {
    const object = typeof value === "string" ? objectIn(value) : value
    removeNulls(object)
    return object
  }
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

/** Removes the members of objects that are null. Items of a list stay: what would move up is another item. */
const removeNulls = (value: unknown, depth = 0): void => {
  if (depth > max_depth) return
  if (Array.isArray(value)) for (const item of value) removeNulls(item, depth + 1)
  else if (Predicate.isObject(value)) {
    for (const name of Object.keys(value)) {
      if (value[name] === null) Reflect.deleteProperty(value, name)
      else removeNulls(value[name], depth + 1)
    }
  }
}
