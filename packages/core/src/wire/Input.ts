import { Predicate, Result, Schema, SchemaAST, SchemaIssue, Struct } from "effect"
import { type ApiError, invalidInput } from "./ApiError.ts"
import * as BoundedDecoder from "./BoundedDecoder.ts"
import { collector, type FieldError, joinWrongFields, notAllowed, type WrongFields } from "./FieldError.ts"

/** The maximum nesting depth of an input. A deeper input is refused before anything else reads it. */
export const maxDepth = 32

/** One problem in an input. */
export interface Finding {
  readonly error: FieldError
  /** Whether a required field is missing. If false, the field is wrong. */
  readonly missing: boolean
}

/** The problems in an input: some of them in detail, and how many more there are. */
export interface Findings {
  readonly found: ReadonlyArray<Finding>
  readonly more: number
}

/**
 * Compiles a schema into a decoder for inputs.
 *
 * It reports every wrong field with its path, and no message repeats a value. Unknown fields are reported as wrong. If
 * an input is nested too deeply, or has more than a hundred strings that storage cannot hold, only this is reported.
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

const wrongField = (error: FieldError): Finding => ({ error, missing: false })

/**
 * Compiles a schema into a decoder for values that are not inputs, such as a carrier's answer. It drops unknown fields.
 * If the value is wrong, it lists the wrong fields: about a hundred at most.
 */
export const valueDecoder = <A>(
  schema: Schema.Decoder<A>
): ((value: unknown) => Result.Result<A, ReadonlyArray<FieldError>>) => {
  const decodeQuickly = BoundedDecoder.firstFault(schema)
  // Compiled only at the first wrong value, because most values are valid.
  let find: ReturnType<typeof BoundedDecoder.finder> | null = null
  return (value) => {
    const quick = decodeQuickly(value)
    if (Result.isSuccess(quick)) return Result.succeed(quick.success)
    find ??= BoundedDecoder.finder(schema)
    const issue = find(value, quick.failure.issue)
    return Result.fail(firstOfEach(findingsOf(issue, { path: [], ast: schema.ast, value })).map(({ error }) => error))
  }
}

/** Compiles a schema into a function that finds a value's wrong fields. It reports them as `valueDecoder` does. */
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

/** Writes a path as `field_errors` does: names and zero-based indexes, joined by dots. */
export const pathOf = (path: ReadonlyArray<PropertyKey>): string => path.map(String).join(".")

/** Keeps only the first finding for each field, because a value that is not a number also breaks all its bounds. */
const firstOfEach = (found: ReadonlyArray<Finding>): ReadonlyArray<Finding> => {
  const paths = new Set<string>()
  return found.filter(({ error: { path } }) => !paths.has(path) && paths.add(path))
}

/** The findings that are not inside a field that is itself wrong or unknown. */
const outside = (inner: ReadonlyArray<Finding>, wholes: ReadonlyArray<Finding>): ReadonlyArray<Finding> => {
  const paths = new Set(wholes.map(({ error }) => error.path))
  return inner.filter(({ error: { path } }) => !isInside(path, paths))
}

const isInside = (path: string, wholes: ReadonlySet<string>): boolean => {
  if (wholes.has("") && path !== "") return true
  for (let end = path.lastIndexOf("."); end > 0; end = path.lastIndexOf(".", end - 1)) {
    if (wholes.has(path.slice(0, end))) return true
  }
  return false
}

const nothingWrong = joinWrongFields([])

const describe = SchemaIssue.makeFormatterStandardSchemaV1()

/** A location in an input: its path, its value, and its schema if the schema is known. */
interface Place {
  readonly path: ReadonlyArray<PropertyKey>
  readonly ast: SchemaAST.AST | undefined
  readonly value: unknown
}

const findingsOf = (issue: SchemaIssue.Issue, place: Place): ReadonlyArray<Finding> => {
  switch (issue._tag) {
    case "Pointer":
      return findingsOf(issue.issue, issue.path.reduce(memberOf, place))
    case "Encoding":
      return findingsOf(issue.issue, place)
    case "Composite": {
      const here = { ...place, ast: BoundedDecoder.originalOf(issue.ast) }
      const issues = [...issue.issues.filter(isWithin(issue.ast)), ...skippedChecks(issue, here)]
      return issues.flatMap((inner) => findingsOf(inner, here))
    }
    case "AnyOf": {
      // If only one alternative has the shape of the value, the problem is inside that alternative. This is the case
      // for an object that may be null.
      const [inner = withinObject(issue, place), ...rest] = issue.issues
      return inner?._tag === "Composite" && rest.length === 0 ? findingsOf(inner, place) : wrongWhole(issue, place)
    }
    case "Filter": {
      const { expected, message } = issue.filter.annotations ?? {}
      if (message !== undefined) return wrongAt(place, message)
      if (expected !== undefined) return wrongAt(place, `Must be ${expected}.`)
      // A rule about several fields reports its own messages and paths.
      const issues = issue.issue._tag === "Composite" ? issue.issue.issues : [issue.issue]
      return issues.flatMap((inner) => findingsOf(inner, place))
    }
    case "MissingKey":
      return missingAt(place, issue.annotations ?? {})
    case "UnexpectedKey":
      return wrongAt(place, "This field is not known.")
    default:
      return wrongWhole(issue, place)
  }
}

const wrongAt = (
  { path }: Place,
  message: string,
  allowed_values: ReadonlyArray<string> = []
): ReadonlyArray<Finding> => [
  wrongField({ path: pathOf(path), message, ...(allowed_values.length > 0 && { allowed_values }) })
]

/**
 * The problem inside an object, if the alternatives are one object and values such as null. A decoder does not look
 * inside an object that differs in a literal, such as an amount with the wrong currency.
 */
const withinObject = ({ ast }: SchemaIssue.AnyOf, { value }: Place): SchemaIssue.Issue | undefined => {
  const [object, ...others] = ast.types.filter(({ _tag }) => _tag === "Objects")
  if (object === undefined || others.length > 0 || !Predicate.isReadonlyObject(value)) return undefined
  const decoded = Schema.decodeUnknownResult(Schema.make<Schema.Decoder<unknown>>(object), { errors: "all" })(value)
  return Result.isFailure(decoded) ? decoded.failure.issue : undefined
}

/** The finding about a value as a whole. */
const wrongWhole = (issue: SchemaIssue.Issue, place: Place): ReadonlyArray<Finding> => {
  const ast = "ast" in issue ? issue.ast : undefined
  if (ast?._tag === "Never") return wrongAt(place, "This field is not known.")
  const ownMessage = textOf(ast?.annotations?.message)
  if (ownMessage !== null) return wrongAt(place, ownMessage)
  const allowedValues = choicesOf(ast)
  if (ast?._tag === "Boolean") return wrongAt(place, "Must be true or false.", allowedValues)
  if (allowedValues.length > 0) return wrongAt(place, notAllowed, allowedValues)
  if (issue._tag === "InvalidType") return wrongAt(place, `Must be ${expectedBy(issue)}.`)
  const described = describe(issue).issues[0]?.message.replace(/^Expected /, "Must be ") ?? "Is not valid"
  // An optional field is described either by its schema's message, which is a whole sentence, or as `… | undefined`.
  const expected = described.replace(/ \| undefined$/, "")
  return wrongAt(place, expected.endsWith(".") ? expected : `${expected}.`)
}

const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null)

const memberOf = ({ path, ast, value }: Place, name: PropertyKey): Place => ({
  path: [...path, name],
  ast:
    ast?._tag === "Objects"
      ? ast.propertySignatures.find((member) => member.name === name)?.type
      : ast?._tag === "Arrays"
        ? ast.rest[0]
        : undefined,
  value: Predicate.hasProperty(value, name) ? value[name] : undefined
})

/** Makes a filter for issues about items within a list's maximum length (`max_items`). Other items are not checked. */
const isWithin = (list: SchemaAST.AST) => {
  const bound = BoundedDecoder.boundOf(list)
  return (issue: SchemaIssue.Issue): boolean =>
    bound === undefined || issue._tag !== "Pointer" || Number(issue.path[0]) < bound
}

/**
 * The issues of checks that read only the names of members (`reads_keys`). A decoder skips all checks if a member is
 * wrong, but these checks still apply.
 */
const skippedChecks = ({ ast, issues }: SchemaIssue.Composite, { value }: Place): ReadonlyArray<SchemaIssue.Issue> =>
  issues.some(({ _tag }) => _tag === "Filter")
    ? []
    : (ast.checks ?? []).flatMap((check) => {
        if (check._tag !== "Filter" || check.annotations?.reads_keys !== true) return []
        const issue = check.run(value, ast, {})
        return issue === undefined ? [] : [new SchemaIssue.Filter(check, issue)]
      })

/** The findings for a missing value: the findings for an empty object or list, otherwise one for the field. */
const missingAt = (place: Place, annotations: Schema.Annotations.Annotations): ReadonlyArray<Finding> => {
  const { ast, path } = place
  const empty = ast?._tag === "Objects" ? {} : ast?._tag === "Arrays" ? [] : null
  if (ast !== undefined && empty !== null) {
    const decoded = Schema.decodeUnknownResult(Schema.make<Schema.Decoder<unknown>>(ast), { errors: "all" })(empty)
    const inside = Result.isFailure(decoded) ? findingsOf(decoded.failure.issue, { ...place, value: empty }) : []
    if (inside.length > 0 && inside.every(({ missing }) => missing)) return inside
  }
  const label = ast === undefined ? null : textOf(SchemaAST.resolve(ast)?.label)
  const required = label === null ? "This field is required." : `Required: ${label}.`
  const because = textOf(annotations.because)
  const message = textOf(annotations.messageMissingKey) ?? (because === null ? required : `${required} ${because}`)
  const allowed_values = choicesOf(ast)
  return [
    { error: { path: pathOf(path), message, ...(allowed_values.length > 0 && { allowed_values }) }, missing: true }
  ]
}

const kinds: { readonly [tag: string]: string } = {
  Arrays: "a list",
  Boolean: "true or false",
  Number: "a number",
  Objects: "an object",
  String: "text"
}

/** The most specific description in the schema of what a value should be. */
const expectedBy = ({ ast }: SchemaIssue.InvalidType): string => {
  // The length limits of a list do not describe its type.
  if (ast._tag === "Arrays") return kinds.Arrays ?? "valid"
  const narrowest = ast.checks?.at(-1)?.annotations?.expected
  return typeof narrowest === "string" ? narrowest : (kinds[ast._tag] ?? "valid")
}

/** The allowed values of a field, as strings; empty if the field does not have a fixed set of values. */
const choicesOf = (ast: SchemaAST.AST | undefined): ReadonlyArray<string> => {
  if (ast?._tag === "Literal") return [String(ast.literal)]
  if (ast?._tag === "Null") return ["null"]
  if (ast?._tag === "Boolean") return ["true", "false"]
  if (ast?._tag !== "Union") return []
  const choices = ast.types.map(choicesOf)
  return choices.every((allowed) => allowed.length > 0) ? choices.flat() : []
}

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
const unstorable = (input: unknown, root: ReadonlyArray<string>): WrongFields => {
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

const tooDeep = `Must not be nested deeper than ${maxDepth} levels.`

const isSafeText = (text: string): boolean => !text.includes("\0") && text.isWellFormed()
