import { Predicate } from "effect"
import { collector, type WrongFields } from "./FieldError.ts"
import { pathOf } from "./Findings.ts"

/* Which values storage can hold. */

/** The maximum nesting depth of an input. A deeper input is refused before anything else reads it. */
export const maxDepth = 32

/**
 * Whether storage can hold a value: it contains no NUL, unpaired surrogate or BigInt, and is not nested too deeply.
 *
 * Check this before any other code walks an input, because a walk without a depth limit can overflow the stack.
 */
export const isStorable = (value: unknown, depth = 0): boolean => {
  if (typeof value === "string") return isSafeText(value)
  if (typeof value !== "object" || value === null) return typeof value !== "bigint"
  if (depth >= maxDepth) return false
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) if (!isStorable(value[at], depth + 1)) return false
    return true
  }
  if (!Predicate.isReadonlyObject(value)) return true
  for (const name of Object.keys(value)) {
    if (!isSafeText(name) || !isStorable(value[name], depth + 1)) return false
  }
  return true
}

/** Finds what no storage can hold (NUL, unpaired surrogates and BigInts), and nesting that is too deep. */
export const unstorable = (input: unknown, root: ReadonlyArray<string>): WrongFields => {
  const wrongFields = collector()
  const path = [...root]
  const add = (message: string): void => wrongFields.add(() => ({ path: pathOf(path), message }))
  const visit = (value: unknown): void => {
    if (typeof value === "string") {
      if (!isSafeText(value)) add("Must be text without NUL characters and unpaired surrogates.")
    } else if (typeof value === "bigint") {
      add("Must be a number, not a BigInt.")
    } else if (typeof value === "object" && value !== null) {
      if (path.length - root.length >= maxDepth) {
        add(tooDeep)
        return
      }
      for (const name of Object.keys(value)) {
        if (!isSafeText(name)) add("Must have field names without NUL characters and unpaired surrogates.")
        else {
          path.push(name)
          visit(Reflect.get(value, name))
          path.pop()
        }
      }
    }
  }
  visit(input)
  return wrongFields.all()
}

/** The message about a value that is nested too deeply. */
export const tooDeep = `Must not be nested deeper than ${maxDepth} levels.`

/** Whether storage can hold text: it contains no NUL and no unpaired surrogate. */
export const isSafeText = (text: string): boolean => !text.includes("\0") && text.isWellFormed()
