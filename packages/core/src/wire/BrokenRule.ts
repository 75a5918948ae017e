import { Schema } from "effect"

/**
 * A rule that a value breaks: the path of the wrong field, empty for the whole value, and what the rule requires; never
 * the value.
 */
export const BrokenRule = Schema.Struct({
  path: Schema.String,
  message: Schema.String.annotateKey({ description: "The rule that is broken, as a sentence for a person" })
})
export type BrokenRule = typeof BrokenRule.Type

/** Empty if the rule holds; otherwise the rule, as broken at the path. */
export const rule = (holds: boolean, path: string, message: string): ReadonlyArray<BrokenRule> =>
  holds ? [] : [{ path, message }]

/** A wrong field as a broken rule. Its message includes the values that are allowed. */
export const fromFieldError = ({
  path,
  message,
  allowed_values
}: BrokenRule & { readonly allowed_values?: ReadonlyArray<string> }): BrokenRule => ({
  path,
  message: allowed_values === undefined ? message : `Must be one of ${allowed_values.join(", ")}.`
})

/** A broken rule on one line: its path, if it has one, and its message. */
export const ruleText = ({ message, path }: BrokenRule): string => (path === "" ? message : `${path}: ${message}`)
