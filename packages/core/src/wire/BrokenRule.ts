import { Schema } from "effect"

/** A rule that a value breaks: the path of the wrong field, empty for the whole value, and what the rule wants. Never the value. */
export const BrokenRule = Schema.Struct({ path: Schema.String, message: Schema.String })
export type BrokenRule = typeof BrokenRule.Type

/** Nothing if a rule holds; otherwise what it wants at the path. */
export const rule = (holds: boolean, path: string, message: string): ReadonlyArray<BrokenRule> =>
  holds ? [] : [{ path, message }]

/** A broken rule on one line: its path, if it has one, and its message. */
export const ruleText = ({ message, path }: BrokenRule): string => (path === "" ? message : `${path}: ${message}`)
