import { Data, Predicate, Result, Schema } from "effect"
import { type BrokenRule, fromFieldError, listed, ruleText } from "./BrokenRule.ts"
import { isForeignSchema, otherCopy } from "./EffectCopy.ts"
import { limitFields } from "./FieldError.ts"
import * as Input from "./Input.ts"

/** One mistake in an argument: the path of the wrong field, and what the field must be. */
export type Mistake = BrokenRule

/**
 * A function was called with an argument that it cannot use. The message names every wrong field and says what it must
 * be, and never repeats a value. `mistakes` contains the same information as data.
 */
export class InvalidArgument extends Data.TaggedError("InvalidArgument")<{
  readonly message: string
  /** The wrong fields, each with its path and what it must be. */
  readonly mistakes?: ReadonlyArray<Mistake>
}> {
  /** The error's code. Every error of the promise functions has a code. */
  readonly code = "invalid_argument"
}

/** Makes the error for the mistakes in one call of a function. */
export const mistaken = (
  name: string,
  mistakes: ReadonlyArray<Mistake & { readonly allowed_values?: ReadonlyArray<string> }>
): InvalidArgument => {
  const told = limitFields({ found: mistakes, more: 0 }, "error").map(fromFieldError)
  return new InvalidArgument({
    message: listed(`${name} got an invalid argument.`, told.map(ruleText)),
    mistakes: told
  })
}

/** The result of checking one option. */
type Check = Result.Result<unknown, ReadonlyArray<Mistake>>

/** Combines the checks of several options. If some fail, the result has the mistakes of all of them. */
export const every = <const Checks extends ReadonlyArray<Check> | Readonly<Record<string, Check>>>(checks: Checks) => {
  const mistakes = Object.values(checks).flatMap((check: Check) => (Result.isFailure(check) ? check.failure : []))
  return mistakes.length === 0 ? Result.all(checks) : Result.fail(mistakes)
}

/** A schema that accepts every object. */
export const AnyObject = Schema.declare(Predicate.isReadonlyObject, { message: "Must be an object." })

/** A schema that accepts every function. */
export const Callable = Schema.declare(Predicate.isFunction, { message: "Must be a function." })

/** Makes a schema that accepts schemas made by this copy of Effect. `message` is for values that are not schemas. */
export const schemaThat = (message: string) =>
  Schema.declare(Schema.isSchema, { message }).check(
    Schema.makeFilter((schema) => (isForeignSchema(schema) ? otherCopy : undefined))
  )

/**
 * Makes a check for a function's argument, because no compiler checks JavaScript programs. The check returns the
 * argument, or throws an `InvalidArgument` that names the function and each wrong field.
 *
 * `shape` describes what the function reads before anything else checks it. Other fields are allowed.
 */
export const checker = (name: string, shape: Schema.Decoder<unknown> = AnyObject): (<A>(given: A) => A) => {
  const find = Input.findings(shape)
  return (value) => {
    const wrongFields = find(value)
    if (wrongFields.length === 0) return value
    throw mistaken(name, wrongFields)
  }
}
