/** One mistake in an argument: the path of the wrong field, and what the field must be. */
export interface Mistake {
  readonly path: string
  readonly message: string
}

/**
 * A function was called with an argument that it cannot use. This error has the same fields as the `InvalidArgument` of
 * `@quotewire/core`. The message names every wrong field and says what it must be, and never repeats a value.
 */
export class InvalidArgument extends TypeError {
  readonly _tag = "InvalidArgument"
  /** The error's code. Every error of the promise functions has a code. */
  readonly code = "invalid_argument"
  /** Every mistake. The message also lists the mistakes, one on each line. */
  readonly mistakes: ReadonlyArray<Mistake>
  static {
    InvalidArgument.prototype.name = "InvalidArgument"
  }
  constructor(functionName: string, mistakes: ReadonlyArray<Mistake>) {
    const sentences = mistakes.map(({ message, path }) => `${path}: ${message}`)
    super(`${functionName} got an invalid argument.${sentences.length === 1 ? " " : "\n  "}${sentences.join("\n  ")}`)
    this.mistakes = mistakes
  }
}

/** A rule about one field: its path, whether the rule holds, and what the field must be. */
export type Rule = readonly [path: string, holds: boolean, message: string]

/** Throws an error that names the function and every rule that does not hold. */
export type CheckRules = (functionName: string, rules: ReadonlyArray<Rule>) => void

/** The rules that do not hold, as mistakes. */
export const mistakesOf = (rules: ReadonlyArray<Rule>): ReadonlyArray<Mistake> =>
  rules.flatMap(([path, holds, message]) => (holds ? [] : [{ path, message }]))

/** Throws an `InvalidArgument` that names the function and every rule that does not hold. */
export const check: CheckRules = (functionName, rules) => {
  const mistakes = mistakesOf(rules)
  if (mistakes.length > 0) throw new InvalidArgument(functionName, mistakes)
}

/** The rule that a field is a number in a range. */
export const inRange = (path: string, value: unknown, lowest: number, highest: number): Rule => [
  path,
  typeof value === "number" && value >= lowest && value <= highest,
  `Must be a number from ${lowest} to ${highest}.`
]
