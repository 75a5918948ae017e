import { Predicate, Result, Schema, type SchemaAST, Struct } from "effect"
import { type ApiError, invalidInput } from "./ApiError.ts"
import * as BoundedDecoder from "./BoundedDecoder.ts"
import { type FieldError, joinWrongFields, type WrongFields } from "./FieldError.ts"
import { type Findings, findingsOf, firstOfEach, outside, wrongField } from "./Findings.ts"
import { isSafeText, isStorable, tooDeep, unstorable } from "./Storable.ts"

export { type Finding, type Findings, pathOf } from "./Findings.ts"
export { isStorable, maxDepth } from "./Storable.ts"

/* Decodes inputs and other values from outside, and defines the schemas that many input fields share. */

/**
 * Compiles a schema into a decoder for inputs.
 *
 * The decoder reports every wrong field with its path, and no message repeats a value. Unknown fields are wrong. If an
 * input is nested too deeply, or has more than a hundred strings that storage cannot hold, only this is reported.
 */
export const decoder = <A>(schema: Schema.Decoder<A>): ((input: unknown) => Result.Result<A, WrongFields>) => {
  const check = checker(schema)
  return (input) =>
    Result.mapError(check(input), ({ found, more }) => ({ found: found.map(({ error }) => error), more }))
}

/** Like `decoder`, but fails with an `ApiError`. */
export const reader = <A>(
  schema: Schema.Decoder<A>
): ((input: unknown) => Result.Result<A, ApiError<"invalid_input">>) => {
  const decode = decoder(schema)
  return (input) => Result.mapError(decode(input), (wrongFields) => invalidInput(wrongFields))
}

/**
 * Like `decoder`, but distinguishes missing fields from wrong fields. Paths start at `root`.
 *
 * An undefined field is missing, as in JSON. If a whole object is missing, its required fields are reported.
 */
export const checker = <A>(
  schema: Schema.Decoder<A>,
  root: ReadonlyArray<string> = []
): ((input: unknown) => Result.Result<A, Findings>) => {
  // Try first with a faster decoder that drops unknown fields and stops at the first fault (docs/decisions/tuning.md).
  const decodeQuickly = BoundedDecoder.firstFault(schema)
  const decode = BoundedDecoder.decoder(schema)
  const later = checkedLater(schema.ast)
  return (value) => {
    const quick = decodeQuickly(value)
    const isSafe = isOwnStorable(value, later)
    if (Result.isSuccess(quick) && isSafe && knowsAll(value, quick.success)) return Result.succeed(quick.success)
    const unsafe = isSafe ? nothingWrong : unstorable(ownPart(value, later), root)
    const wrongFields = unsafe.found.map(wrongField)
    if (unsafe.more > 0 || unsafe.found.some(({ message }) => message === tooDeep)) {
      return Result.fail({ found: wrongFields, more: unsafe.more })
    }
    const decoded = decode(value)
    if (Result.isSuccess(decoded)) {
      return wrongFields.length === 0 ? Result.succeed(decoded.success) : Result.fail({ found: wrongFields, more: 0 })
    }
    const { issue, more } = decoded.failure
    const otherFindings = findingsOf(issue, { path: root, ast: schema.ast, value })
    return Result.fail({ found: firstOfEach([...outside(wrongFields, otherFindings), ...otherFindings]), more })
  }
}

/**
 * Compiles a schema into a decoder for values that are not inputs, such as a carrier's answer. The decoder drops
 * unknown fields. If the value is wrong, the decoder lists the wrong fields: about a hundred at most.
 */
export const valueDecoder = <A>(
  schema: Schema.Decoder<A>
): ((value: unknown) => Result.Result<A, ReadonlyArray<FieldError>>) => {
  const decodeQuickly = BoundedDecoder.firstFault(schema)
  // Compiled only at the first wrong value, because most values are valid.
  let find: ReturnType<typeof BoundedDecoder.faultFinder> | null = null
  return (value) => {
    const quick = decodeQuickly(value)
    if (Result.isSuccess(quick)) return Result.succeed(quick.success)
    find ??= BoundedDecoder.faultFinder(schema)
    const issue = find(value, quick.failure.issue)
    return Result.fail(firstOfEach(findingsOf(issue, { path: [], ast: schema.ast, value })).map(({ error }) => error))
  }
}

/** Compiles a schema into a function that finds a value's wrong fields, and reports them as `valueDecoder` does. */
export const findings = (schema: Schema.Decoder<unknown>): ((value: unknown) => ReadonlyArray<FieldError>) => {
  const decode = valueDecoder(schema)
  return (value) => Result.match(decode(value), { onFailure: (failures) => failures, onSuccess: () => [] })
}

/** The input schema for an operation without input. Every field is unknown. */
export const Nothing = Schema.Record(Schema.String, Schema.Never)

/** Whether text has more than `max` characters. As in JSON Schema, these are code points, not UTF-16 units. */
export const isLonger = (text: string, max: number): boolean =>
  text.length > max && (text.length > 2 * max || [...text].length > max)

const isShorter = (text: string, min: number): boolean =>
  text.length < min || (text.length < 2 * min && [...text].length < min)

/** Text with a maximum and a minimum length. */
export const textUpTo = (max: number, min = 0) => {
  const bounds = min === 0 ? { maxLength: max } : { minLength: min, maxLength: max }
  return Schema.String.check(
    Schema.makeFilter((text) => !isShorter(text, min) && !isLonger(text, max), {
      expected: `text of ${min === 0 ? "at most" : `${min} to`} ${max} characters`,
      toJsonSchema: () => bounds,
      arbitraryConstraint: bounds
    })
  )
}

/** A whole number with a minimum, and optionally a maximum. */
export const wholeNumber = (minimum: number, maximum: number | null = null) =>
  maximum === null
    ? Schema.Int.check(Schema.isGreaterThanOrEqualTo(minimum, { expected: `a whole number of at least ${minimum}` }))
    : Schema.Int.check(
        Schema.isBetween({ minimum, maximum }, { expected: `a whole number from ${minimum} to ${maximum}` })
      )

const nothingWrong = joinWrongFields([])

/** Whether a decoder that drops unknown fields has kept all fields. */
const knowsAll = (value: unknown, decoded: unknown): boolean => {
  if (value === decoded || typeof value !== "object" || value === null) return true
  if (Array.isArray(value))
    return Array.isArray(decoded) && value.every((item, index) => knowsAll(item, decoded[index]))
  if (!Predicate.isReadonlyObject(value) || !Predicate.isReadonlyObject(decoded)) return false
  for (const name of Object.keys(value)) {
    const member = value[name]
    if (member === decoded[name] && member !== undefined) continue
    if (!Object.hasOwn(decoded, name) || !knowsAll(member, decoded[name])) return false
  }
  return true
}

/** The members of an input that are checked separately (`checked_later`), and therefore need not be walked here. */
const checkedLater = (ast: SchemaAST.AST): ReadonlyArray<PropertyKey> =>
  ast._tag === "Objects"
    ? ast.propertySignatures
        .filter(({ type }) => type.context?.annotations?.checked_later === true)
        .map(({ name }) => name)
    : []

/** An input without the members that are checked separately. */
const ownPart = (input: unknown, checkedLaterKeys: ReadonlyArray<PropertyKey>): unknown =>
  checkedLaterKeys.length > 0 && Predicate.isReadonlyObject(input) ? Struct.omit(input, checkedLaterKeys) : input

/**
 * Whether storage can hold an input, apart from the members that are checked separately. The input is not copied,
 * because it can have many members.
 */
const isOwnStorable = (input: unknown, checkedLaterKeys: ReadonlyArray<PropertyKey>): boolean =>
  checkedLaterKeys.length > 0 && Predicate.isReadonlyObject(input)
    ? Object.keys(input).every(
        (name) => checkedLaterKeys.includes(name) || (isSafeText(name) && isStorable(input[name], 1))
      )
    : isStorable(input)
