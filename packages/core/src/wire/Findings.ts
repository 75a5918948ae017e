import { Predicate, Result, Schema, SchemaAST, SchemaIssue } from "effect"
import * as BoundedDecoder from "./BoundedDecoder.ts"
import { type FieldError, notAllowed } from "./FieldError.ts"

/* What is wrong with a value, translated from the issues of Effect's decoder into field errors. */

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

/** The finding about a wrong field. */
export const wrongField = (error: FieldError): Finding => ({ error, missing: false })

/** Writes a path as `field_errors` does: names and zero-based indexes, joined by dots. */
export const pathOf = (path: ReadonlyArray<PropertyKey>): string => path.map(String).join(".")

/** Keeps only the first finding for each field, because a value that is not a number also breaks all its bounds. */
export const firstOfEach = (found: ReadonlyArray<Finding>): ReadonlyArray<Finding> => {
  const paths = new Set<string>()
  return found.filter(({ error: { path } }) => !paths.has(path) && paths.add(path))
}

/** The findings that are not inside a field that is itself wrong or unknown. */
export const outside = (inner: ReadonlyArray<Finding>, wholes: ReadonlyArray<Finding>): ReadonlyArray<Finding> => {
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

const describe = SchemaIssue.makeFormatterStandardSchemaV1()

/** A location in an input: its path, its value, and its schema if the schema is known. */
export interface Place {
  readonly path: ReadonlyArray<PropertyKey>
  readonly ast: SchemaAST.AST | undefined
  readonly value: unknown
}

/** Translates an issue at a location into findings. */
export const findingsOf = (issue: SchemaIssue.Issue, place: Place): ReadonlyArray<Finding> => {
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
