import { Data, Predicate, Schema } from "effect"
import { ruleText } from "./BrokenRule.ts"
import { isForeignSchema, otherCopy } from "./EffectCopy.ts"
import { limitFields } from "./FieldError.ts"
import * as Input from "./Input.ts"

/**
 * A function was called with an argument that it cannot use. The message says what is wrong, and never repeats the
 * argument's values.
 */
export class InvalidArgument extends Data.TaggedError("InvalidArgument")<{ readonly message: string }> {}

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
    const wrong = find(value)
    if (wrong.length === 0) return value
    const sentences = limitFields({ found: wrong, more: 0 }, "error").map(ruleText)
    throw new InvalidArgument({ message: `${name} got an invalid argument. ${sentences.join(" ")}` })
  }
}
