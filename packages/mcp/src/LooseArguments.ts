import { Predicate, Result } from "effect"
import type { Arguments } from "./Tool.ts"

/** The JSON Schemas of a tool's arguments, by their names. */
export type Shapes = Readonly<Record<string, object>>

/** Text that holds an object is at most so long; longer text is not read. */
const max_text = 64 * 1024

/**
 * Reads arguments as programs send them where they write the same value in another way.
 *
 * - `null` for a known argument, and inside one that is an object, is an argument that was left out.
 * - An object may come as the JSON text of it.
 * - A whole number may come as text.
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

/** The object that a text holds; the text itself where it holds none. */
const objectIn = (text: string): unknown => {
  if (text.length > max_text || !/^\s*\{/.test(text)) return text
  return Result.getOrElse(
    Result.try((): unknown => JSON.parse(text)),
    () => text
  )
}

/** Objects may be nested as deep as inputs may; what is deeper is refused when the input is checked. */
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
