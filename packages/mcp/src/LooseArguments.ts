import { Predicate, Result } from "effect"
import type { Fields } from "./JsonRpc.ts"

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

/** Leaves out the members of objects that are null. Items of a list stay: what would move up is another item. */
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
