import { Schema } from "effect"

/**
 * A rule that a value breaks: the path of the wrong field, and what the rule requires. The path is empty if the whole
 * value is wrong. The value itself is never included.
 */
export const BrokenRule = Schema.Struct({
  path: Schema.String,
  message: Schema.String.annotateKey({ description: "The rule that is broken, as a sentence for a person" })
})
export type BrokenRule = typeof BrokenRule.Type

/** Returns an empty list if a rule holds, and otherwise a list with the broken rule at this path. */
export const rule = (isFulfilled: boolean, path: string, message: string): ReadonlyArray<BrokenRule> =>
  isFulfilled ? [] : [{ path, message }]

/** Turns a wrong field into a broken rule. The rule's message includes the allowed values. */
export const fromFieldError = ({
  path,
  message,
  allowed_values
}: BrokenRule & { readonly allowed_values?: ReadonlyArray<string> }): BrokenRule => ({
  path,
  message: allowed_values === undefined ? message : `Must be one of ${allowed_values.join(", ")}.`
})

/**
 * Writes an introduction and its sentences. A single sentence follows on the same line; several sentences each get
 * their own line.
 */
export const listed = (introduction: string, sentences: ReadonlyArray<string>): string =>
  sentences.length === 1
    ? `${introduction} ${sentences.join("")}`
    : [introduction, ...sentences.map((sentence) => `  ${sentence}`)].join("\n")

/** Writes a broken rule on one line: its path, if the path is not empty, and its message. */
export const ruleText = ({ message, path }: BrokenRule): string => (path === "" ? message : `${path}: ${message}`)
