import { Predicate, Result, Schema, SchemaAST, SchemaIssue } from "effect"
import { type ApiError, invalidInput } from "./ApiError.ts"
import { boundOf, cutter } from "./Cut.ts"
import { collector, type FieldError, together, type WrongFields } from "./FieldError.ts"

/** Objects and lists in an input may be nested this deep; a deeper one is refused before anything walks it. */
export const max_depth = 32

/** One thing that is wrong with an input. */
export interface Finding {
  readonly error: FieldError
  /** Whether a required field is absent, rather than one that is there refused. */
  readonly missing: boolean
}

/** What is wrong with an input: some in full, and how many more wrong fields there are. */
export interface Findings {
  readonly found: ReadonlyArray<Finding>
  readonly more: number
}

/**
 * Compiles a schema into the decoder of an input.
 *
 * Every wrong field is found, each at its path, and no message repeats a value. Unknown fields are wrong. An input with
 * more than a hundred texts that no storage can hold, or one that is nested too deep, is not read for anything else.
 */
export const decoder = <A>(schema: Schema.Decoder<A>): ((input: unknown) => Result.Result<A, WrongFields>) => {
  const check = checker(schema)
  return (input) =>
    Result.mapError(check(input), ({ found, more }) => ({ found: found.map(({ error }) => error), more }))
}

/** The same as `decoder`, with the refusal that names what is wrong. */
export const reader = <A>(
  schema: Schema.Decoder<A>
): ((input: unknown) => Result.Result<A, ApiError<"invalid_input">>) => {
  const decode = decoder(schema)
  return (input) => Result.mapError(decode(input), (wrong) => invalidInput(wrong))
}

/**
 * The same as `decoder`, which also tells missing fields from wrong ones; paths start at `root`.
 *
 * A field that is undefined counts as absent, as it would in JSON. Where a whole object is missing, the fields that it
 * requires are found.
 */
export const checker = <A>(
  schema: Schema.Decoder<A>,
  root: ReadonlyArray<string> = []
): ((input: unknown) => Result.Result<A, Findings>) => {
  // A decoder that drops unknown fields, and stops at the first issue, takes a fifth of the time.
  const decodeQuickly = Schema.decodeUnknownResult(schema)
  const decode = Schema.decodeUnknownResult(schema, { errors: "all", onExcessProperty: "error" })
  const cut = cutter(schema)
  return (sent) => {
    const quick = decodeQuickly(sent)
    // Before anything else walks what will not be named.
    const { input, left_out, all_known } = cut(sent)
    if (Result.isSuccess(quick) && all_known && input === sent && isStorable(sent, 0))
      return Result.succeed(quick.success)
    const unsafe = isStorable(input, 0) ? nothingWrong : unstorable(input, root)
    const found = unsafe.found.map(wrong)
    if (unsafe.more > 0 || unsafe.found.some(({ message }) => message === too_deep)) {
      return Result.fail({ found, more: unsafe.more + left_out })
    }
    const decoded = decode(input)
    if (Result.isSuccess(decoded)) {
      return found.length === 0 ? Result.succeed(decoded.success) : Result.fail({ found, more: left_out })
    }
    const others = findingsOf(decoded.failure.issue, { path: root, ast: schema.ast, value: input })
    return Result.fail({ found: firstOfEach([...found, ...others]), more: left_out })
  }
}

const wrong = (error: FieldError): Finding => ({ error, missing: false })

/** Finds what is wrong with a value, each field at its path; no message repeats a value. Unknown fields may be there. */
export const findings = (schema: Schema.Decoder<unknown>): ((value: unknown) => ReadonlyArray<FieldError>) => {
  const decode = Schema.decodeUnknownResult(schema, { errors: "all" })
  return (value) => {
    const decoded = decode(value)
    if (Result.isSuccess(decoded)) return []
    const found = findingsOf(decoded.failure.issue, { path: [], ast: schema.ast, value })
    return firstOfEach(found).map(({ error }) => error)
  }
}

/** The input of an operation that has none: every field is unknown. */
export const Nothing = Schema.Record(Schema.String, Schema.Never)

/** Whether a text has more characters than that: as JSON Schema counts them, which is not by the units of UTF-16. */
export const isLonger = (text: string, max: number): boolean =>
  text.length > max && (text.length > 2 * max || [...text].length > max)

const isShorter = (text: string, min: number): boolean =>
  text.length < min || (text.length < 2 * min && [...text].length < min)

/** Text of at most so many characters, and of at least so many. */
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
const firstOfEach = (findings: ReadonlyArray<Finding>): ReadonlyArray<Finding> => {
  const paths = new Set<string>()
  return findings.filter(({ error: { path } }) => !paths.has(path) && paths.add(path))
}

const nothingWrong = together([])

const describe = SchemaIssue.makeFormatterStandardSchemaV1()

/** A place in an input: its path, its schema where that is known, and what is there. */
interface Place {
  readonly path: ReadonlyArray<PropertyKey>
  readonly ast: SchemaAST.AST | undefined
  readonly value: unknown
}

const findingsOf = (issue: SchemaIssue.Issue, place: Place): ReadonlyArray<Finding> => {
  switch (issue._tag) {
    case "Pointer":
      return findingsOf(issue.issue, issue.path.reduce(memberOf, place))
    case "Composite": {
      const here = { ...place, ast: issue.ast }
      const issues = [...issue.issues.filter(isWithin(issue.ast)), ...skippedChecks(issue, here)]
      return issues.flatMap((inner) => findingsOf(inner, here))
    }
    case "AnyOf": {
      // Only one alternative has the shape of the value: what is wrong is inside it, such as in an object that may be null.
      const [inner, ...others] = issue.issues
      return inner?._tag === "Composite" && others.length === 0 ? findingsOf(inner, place) : wrongWhole(issue, place)
    }
    case "Filter": {
      const { expected, message } = issue.filter.annotations ?? {}
      if (message !== undefined) return wrongAt(place, message)
      if (expected !== undefined) return wrongAt(place, `Must be ${expected}.`)
      // A rule over several fields says itself what is wrong, and where.
      const said = issue.issue._tag === "Composite" ? issue.issue.issues : [issue.issue]
      return said.flatMap((inner) => findingsOf(inner, place))
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
  wrong({ path: pathOf(path), message, ...(allowed_values.length > 0 && { allowed_values }) })
]

/** What is wrong with a value as a whole. */
const wrongWhole = (issue: SchemaIssue.Issue, place: Place): ReadonlyArray<Finding> => {
  const ast = "ast" in issue ? issue.ast : undefined
  if (ast?._tag === "Never") return wrongAt(place, "This field is not known.")
  const own = textOf(ast?.annotations?.message)
  if (own !== null) return wrongAt(place, own)
  const allowed_values = choicesOf(ast)
  if (ast?._tag === "Boolean") return wrongAt(place, "Must be true or false.", allowed_values)
  if (allowed_values.length > 0) return wrongAt(place, "Must be one of the allowed values.", allowed_values)
  if (issue._tag === "InvalidType") return wrongAt(place, `Must be ${expectedBy(issue)}.`)
  const expected = describe(issue).issues[0]?.message.replace(/^Expected /, "Must be ") ?? "Is not valid"
  return wrongAt(place, `${expected}.`)
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

/** Items beyond the bound of a list (`max_items`) are not looked at. */
const isWithin = (list: SchemaAST.AST) => {
  const bound = boundOf(list)
  return (issue: SchemaIssue.Issue): boolean =>
    bound === undefined || issue._tag !== "Pointer" || Number(issue.path[0]) < bound
}

/**
 * The checks that only look at which members there are (`reads_keys`) also hold where a member is wrong: a decoder
 * passes all checks over then.
 */
const skippedChecks = ({ ast, issues }: SchemaIssue.Composite, { value }: Place): ReadonlyArray<SchemaIssue.Issue> =>
  issues.some(({ _tag }) => _tag === "Filter")
    ? []
    : (ast.checks ?? []).flatMap((check) => {
        if (check._tag !== "Filter" || check.annotations?.reads_keys !== true) return []
        const issue = check.run(value, ast, {})
        return issue === undefined ? [] : [new SchemaIssue.Filter(check, issue)]
      })

/** What is missing where nothing is: what an empty object or list would lack, or else the field itself. */
const missingAt = (place: Place, said: Schema.Annotations.Annotations): ReadonlyArray<Finding> => {
  const { ast, path } = place
  const empty = ast?._tag === "Objects" ? {} : ast?._tag === "Arrays" ? [] : null
  if (ast !== undefined && empty !== null) {
    const decoded = Schema.decodeUnknownResult(Schema.make<Schema.Decoder<unknown>>(ast), { errors: "all" })(empty)
    const inside = Result.isFailure(decoded) ? findingsOf(decoded.failure.issue, { ...place, value: empty }) : []
    if (inside.length > 0 && inside.every(({ missing }) => missing)) return inside
  }
  const label = ast === undefined ? null : textOf(SchemaAST.resolve(ast)?.label)
  const required = label === null ? "This field is required." : `Required: ${label}.`
  const because = textOf(said.because)
  const message = textOf(said.messageMissingKey) ?? (because === null ? required : `${required} ${because}`)
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

/** What a value of the wrong type should have been: the narrowest that its schema says. */
const expectedBy = ({ ast }: SchemaIssue.InvalidType): string => {
  // The bounds of a list say nothing about what it is.
  if (ast._tag === "Arrays") return kinds.Arrays ?? "valid"
  const narrowest = ast.checks?.at(-1)?.annotations?.expected
  return typeof narrowest === "string" ? narrowest : (kinds[ast._tag] ?? "valid")
}

/** What may stand in a field that is a choice, as text; nothing where it is none. */
const choicesOf = (ast: SchemaAST.AST | undefined): ReadonlyArray<string> => {
  if (ast?._tag === "Literal") return [String(ast.literal)]
  if (ast?._tag === "Null") return ["null"]
  if (ast?._tag === "Boolean") return ["true", "false"]
  if (ast?._tag !== "Union") return []
  const choices = ast.types.map(choicesOf)
  return choices.every((some) => some.length > 0) ? choices.flat() : []
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
const unstorable = (input: unknown, root: ReadonlyArray<string>): WrongFields => {
  const wrong = collector()
  const path = [...root]
  const add = (message: string): void => wrong.add(() => ({ path: pathOf(path), message }))
  const visit = (value: unknown): void => {
    if (typeof value === "string") {
      if (!isSafe(value)) add("Must be text without NUL or broken characters.")
    } else if (typeof value === "bigint") {
      add("Must be a plain number, not a BigInt.")
    } else if (typeof value === "object" && value !== null) {
      if (path.length - root.length >= max_depth) {
        add(too_deep)
        return
      }
      for (const name of Object.keys(value)) {
        if (!isSafe(name)) add("Must have field names without NUL or broken characters.")
        else {
          path.push(name)
          visit(Reflect.get(value, name))
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
