import { Json } from "@quotewire/core"
import { Predicate, Result } from "effect"
import type { Arguments } from "./Tool.ts"

/** The JSON Schemas of a tool's arguments, by name. */
export type Schemas = Readonly<Record<string, object>>

/** The maximum length of text that is parsed as an object. Longer text stays unchanged. */
const maxText = 64 * 1024

/**
 * Normalizes arguments that client programs send in nonstandard forms.
 *
 * - A `null` is treated as omitted, for a known argument and for a member of an argument that is an object.
 * - An object may be sent as JSON text.
 * - A whole number may be sent as text.
 *
 * Everything else stays unchanged and is checked later. Booleans are never parsed from text, because they can be a
 * person's consent. The arguments are changed in place, because there may be thousands, and copying them takes longer
 * than all checks.
 */
export const read = (schemas: Schemas, args: Arguments): void => {
  for (const [name, schema] of Object.entries(schemas)) {
    if (!Object.hasOwn(args, name)) continue
    if (args[name] === null) Reflect.deleteProperty(args, name)
    else args[name] = readAs(schema, args[name])
  }
}

const readAs = (schema: object, value: unknown): unknown => {
  const type = "type" in schema ? schema.type : null
  if (type === "object") {
    const object = typeof value === "string" ? objectIn(value) : value
    removeNulls(object)
    return object
  }
  return type === "integer" && typeof value === "string" && wholeNumber.test(value) ? Number(value) : value
}

const wholeNumber = /^-?\d{1,15}$/

/** Parses JSON text that contains an object. Other text is returned unchanged. */
const objectIn = (text: string): unknown => {
  if (text.length > maxText || !/^\s*\{/.test(text)) return text
  return Result.getOrElse(
    Result.try((): unknown => JSON.parse(text)),
    () => text
  )
}

/** The maximum nesting depth of inputs. Input validation refuses deeper objects. */
export const maxDepth = 32

/** Whether arguments are nested deeper than any input may be. Check this before recursing over them without a limit. */
export const isTooDeep = (args: unknown): boolean => Json.isDeeper(args, maxDepth + 1)

/**
 * Removes the null members of objects. Null items of lists stay, because removing an item would renumber the others.
 */
const removeNulls = (value: unknown, depth = 0): void => {
  if (depth > maxDepth) return
  if (Array.isArray(value)) for (const item of value) removeNulls(item, depth + 1)
  else if (Predicate.isObject(value)) {
    for (const name of Object.keys(value)) {
      if (value[name] === null) Reflect.deleteProperty(value, name)
      else removeNulls(value[name], depth + 1)
    }
  }
}
