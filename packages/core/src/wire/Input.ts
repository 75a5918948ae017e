import { Predicate, Result, Schema, SchemaIssue } from "effect"
import { type ApiError, invalidInput } from "./ApiError.ts"
import { cutter } from "./Cut.ts"
import { collector, type FieldError, together, type WrongFields } from "./FieldError.ts"

/** Objects and lists in an input may be nested this deep; a deeper one is refused before anything walks it. */
export const max_depth = 32

/**
 * Compiles a schema into the decoder of an input.
 *
 * Every wrong field is found, each at its path, and no message repeats a value. Unknown fields are wrong. An input with
 * more than a hundred texts that no storage can hold, or one that is nested too deep, is not read for anything else.
 */
export const decoder = <A>(schema: Schema.Decoder<A>): ((input: unknown) => Result.Result<A, WrongFields>) => {
  const decode = Schema.decodeUnknownResult(schema, { errors: "all", onExcessProperty: "error" })
  const cut = cutter(schema)
  return (sent) => {
    // First of all, so that nothing else walks what will not be named.
    const { input, left_out } = cut(sent)
    const unsafe = isStorable(input, 0) ? nothingWrong : unstorable(input)
    if (unsafe.more > 0 || unsafe.found.some(({ message }) => message === too_deep)) {
      return Result.fail({ ...unsafe, more: unsafe.more + left_out })
    }
    const decoded = decode(input)
    if (Result.isSuccess(decoded) && unsafe.found.length === 0) return Result.succeed(decoded.success)
    const wrong = Result.isFailure(decoded) ? fieldErrors(decoded.failure.issue, []) : []
    return Result.fail({ found: firstOfEach([...unsafe.found, ...wrong]), more: left_out })
  }
}

/** The same as `decoder`, with the refusal that names what is wrong. */
export const reader = <A>(
  schema: Schema.Decoder<A>
): ((input: unknown) => Result.Result<A, ApiError<"invalid_input">>) => {
  const decode = decoder(schema)
  return (input) => Result.mapError(decode(input), (wrong) => invalidInput(wrong))
}

/** Finds what is wrong with a value, each field at its path; no message repeats a value. Unknown fields may be there. */
export const findings = (schema: Schema.Decoder<unknown>): ((value: unknown) => ReadonlyArray<FieldError>) => {
  const decode = Schema.decodeUnknownResult(schema, { errors: "all" })
  return (value) => {
    const decoded = decode(value)
    return Result.isSuccess(decoded) ? [] : firstOfEach(fieldErrors(decoded.failure.issue, []))
  }
}

/** The input of an operation that has none: every field is unknown. */
export const Nothing = Schema.Record(Schema.String, Schema.Never)

/** Whether a text has more characters than that: as JSON Schema counts them, which is not by the units of UTF-16. */
export const isLonger = (text: string, max: number): boolean =>
  text.length > max && (text.length > 2 * max || [...text].length > max)

/** Text of at most so many characters, and of at least so many. */
export const textUpTo = (max: number, min: 0 | 1 = 0) => {
  const bounds = min === 0 ? { maxLength: max } : { minLength: min, maxLength: max }
  return Schema.String.check(
    Schema.makeFilter((text) => text.length >= min && !isLonger(text, max), {
      expected: `text of ${min === 0 ? "at most" : `${min} to`} ${max} characters`,
      toJsonSchema: () => bounds,
      arbitraryConstraint: bounds
    })
  )
}

/** A whole number from a minimum on, up to a maximum where there is one. */
export const wholeNumber = (minimum: number, maximum: number | null = null) =>
  maximum === null
    ? Schema.Int.check(Schema.isGreaterThanOrEqualTo(minimum, { expected: `a whole number of at least ${minimum}` }))
    : Schema.Int.check(
        Schema.isBetween({ minimum, maximum }, { expected: `a whole number from ${minimum} to ${maximum}` })
      )

/** Joins a path as `field_errors` shows it: dots and zero-based numbers. */
export const pathOf = (path: ReadonlyArray<PropertyKey>): string => path.map(String).join(".")

/** One finding for each field: what is not a number breaks every bound of the number, too. */
const firstOfEach = (findings: ReadonlyArray<FieldError>): ReadonlyArray<FieldError> => {
  const paths = new Set<string>()
  return findings.filter(({ path }) => !paths.has(path) && paths.add(path))
}

const nothingWrong = together([])

const describe = SchemaIssue.makeFormatterStandardSchemaV1()

const fieldErrors = (issue: SchemaIssue.Issue, path: ReadonlyArray<PropertyKey>): ReadonlyArray<FieldError> => {
  const at = (message: string): ReadonlyArray<FieldError> => [{ path: pathOf(path), message }]
  switch (issue._tag) {
    case "Pointer":
      return fieldErrors(issue.issue, [...path, ...issue.path])
    case "Composite":
      return issue.issues.flatMap((inner) =>
        fieldErrors(inner, path).map((error) => (isMissing(inner) ? withChoices(error, issue.ast, inner.path) : error))
      )
    case "AnyOf": {
      // Only one alternative has the shape of the value: what is wrong is inside it, such as in an object that may be null.
      const [inner, ...others] = issue.issues
      if (inner?._tag === "Composite" && others.length === 0) return fieldErrors(inner, path)
      return fieldErrorOf(issue, path)
    }
    case "Filter": {
      const { expected, message } = issue.filter.annotations ?? {}
      if (message !== undefined) return at(message)
      // A rule over several fields says itself what is wrong, and where.
      return expected === undefined ? fieldErrors(issue.issue, path) : at(`Must be ${expected}.`)
    }
    case "MissingKey":
      return at(textOf(issue.annotations?.messageMissingKey) ?? "This field is required.")
    case "UnexpectedKey":
      return at("This field is not known.")
    default:
      return fieldErrorOf(issue, path)
  }
}

/** What is wrong with a value as a whole. */
const fieldErrorOf = (issue: SchemaIssue.Issue, path: ReadonlyArray<PropertyKey>): ReadonlyArray<FieldError> => {
  const at = (message: string): ReadonlyArray<FieldError> => [{ path: pathOf(path), message }]
  if ("ast" in issue && issue.ast._tag === "Never") return at("This field is not known.")
  const own = "ast" in issue ? textOf(issue.ast.annotations?.message) : null
  if (own !== null) return at(own)
  const allowed_values = "ast" in issue ? literalsOf(issue.ast) : []
  if (allowed_values.length > 0) {
    return [{ path: pathOf(path), message: "Must be one of the allowed values.", allowed_values }]
  }
  if (issue._tag === "InvalidType") return at(`Must be ${expectedBy(issue)}.`)
  const expected = describe(issue).issues[0]?.message.replace(/^Expected /, "Must be ") ?? "Is not valid"
  return at(`${expected}.`)
}

const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null)

const isMissing = (issue: SchemaIssue.Issue): issue is SchemaIssue.Pointer =>
  issue._tag === "Pointer" && issue.issue._tag === "MissingKey"

/** What may stand in a field that is missing, where that is a choice. */
const withChoices = (error: FieldError, object: SchemaIssue.Composite["ast"], [name]: SchemaIssue.Pointer["path"]) => {
  const fields = object._tag === "Objects" ? object.propertySignatures : []
  const field = fields.find((field) => field.name === name)
  const allowed_values = field === undefined ? [] : literalsOf(field.type)
  return allowed_values.length > 0 ? { ...error, allowed_values } : error
}

const kinds: { readonly [tag: string]: string } = {
  Arrays: "a list",
  Boolean: "true or false",
  Number: "a number",
  Objects: "an object",
  String: "text"
}

/** What a value of the wrong type should have been: the narrowest that its schema says. */
const expectedBy = ({ ast }: SchemaIssue.InvalidType): string => {
  // The bounds of a list say nothing about what it is.
  if (ast._tag === "Arrays") return kinds.Arrays ?? "valid"
  const narrowest = ast.checks?.at(-1)?.annotations?.expected
  return typeof narrowest === "string" ? narrowest : (kinds[ast._tag] ?? "valid")
}

const literalsOf = (ast: SchemaIssue.InvalidType["ast"]): ReadonlyArray<string> => {
  if (ast._tag === "Literal") return [String(ast.literal)]
  if (ast._tag !== "Union") return []
  const literals = ast.types.map(literalsOf)
  return literals.every((literal) => literal.length > 0) ? literals.flat() : []
}

/** Whether there is nothing for `unstorable` to find. */
const isStorable = (value: unknown, depth: number): boolean => {
  if (typeof value === "string") return isSafe(value)
  if (typeof value !== "object" || value === null) return typeof value !== "bigint"
  if (depth >= max_depth) return false
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) if (!isStorable(value[at], depth + 1)) return false
    return true
  }
  if (!Predicate.isReadonlyObject(value)) return true
  for (const name of Object.keys(value)) {
    if (!isSafe(name) || !isStorable(value[name], depth + 1)) return false
  }
  return true
}

/** Finds what no storage can hold (NUL, unpaired surrogates, a BigInt) and nesting without end. */
const unstorable = (input: unknown): WrongFields => {
  const wrong = collector()
  const path: Array<string> = []
  const add = (message: string): void => wrong.add(() => ({ path: pathOf(path), message }))
  const visit = (value: unknown): void => {
    if (typeof value === "string") {
      if (!isSafe(value)) add("Must be text without NUL or broken characters.")
    } else if (typeof value === "bigint") {
      add("Must be a plain number, not a BigInt.")
    } else if (typeof value === "object" && value !== null) {
      if (path.length >= max_depth) {
        add(too_deep)
        return
      }
      for (const [name, member] of Object.entries(value)) {
        if (!isSafe(name)) add("Must have field names without NUL or broken characters.")
        else {
          path.push(name)
          visit(member)
          path.pop()
        }
      }
    }
  }
  visit(input)
  return wrong.all()
}

const too_deep = `Must not be nested deeper than ${max_depth} levels.`

const isSafe = (text: string): boolean => !text.includes("\0") && text.isWellFormed()
