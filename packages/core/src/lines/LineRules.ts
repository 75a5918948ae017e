import { Result, type Schema, SchemaAST } from "effect"
import { rule } from "../wire/BrokenRule.ts"
import { isCalendarDay } from "../wire/CalendarDay.ts"
import type { FieldError } from "../wire/FieldError.ts"
import type { Assumption, Problems, Subject } from "./Application.ts"
import type { Fact } from "./FactSchema.ts"
import type { Codes, Traits } from "./Line.ts"
import { stateCodes } from "./State.ts"

/* Rules for the definition of a line. Mistakes have paths within the definition. */

type Mistakes = ReadonlyArray<FieldError>

const namePattern = /^[a-z][a-z0-9_]{0,59}$/
const nameForm =
  "Must begin with a lower-case letter and have at most 60 characters: lower-case letters, digits and underscores."

// A fact is named by its path. In a path, dots separate the names, and `*` stands for every item, so a name cannot
// contain either.
const factNamePattern = /^[A-Za-z][A-Za-z0-9_]{0,59}$/
const factNameForm =
  "Must have a name that begins with a letter and has at most 60 characters: letters, digits and underscores."

/** Checks everything in a definition that can be checked without running its functions. */
export const checkTexts = (
  definition: Pick<Traits, "codes" | "disclosures" | "insures" | "name"> & {
    readonly facts: Schema.Top
    readonly facts_version: string
  }
): Mistakes => {
  const { codes, disclosures, facts, facts_version, insures, name } = definition
  return [
    ...rule(namePattern.test(name), "name", nameForm),
    ...rule(insures.trim() !== "", "insures", 'Must say what the line insures, such as "rented homes".'),
    ...rule(isCalendarDay(facts_version), "facts_version", "Must be a date in the form YYYY-MM-DD."),
    ...(SchemaAST.isObjects(facts.ast) ? checkFacts(facts.ast, "facts") : [noStruct]),
    ...checkNames(disclosures, "disclosures"),
    ...(["coverage_codes", "subject_kinds", "billing_cycles"] as const).flatMap((list) =>
      rule(codes[list].length > 0, `codes.${list}`, "Must not be empty.")
    ),
    ...(["coverage_codes", "subject_kinds", "billing_cycles", "fee_codes"] as const).flatMap((list) =>
      checkNames(codes[list], `codes.${list}`)
    )
  ]
}

const noStruct = { path: "facts", message: "Must be a Schema.Struct." }

const checkNames = (names: ReadonlyArray<string>, path: string): Mistakes =>
  names.flatMap((name, index) => [
    ...rule(namePattern.test(name), `${path}.${index}`, nameForm),
    ...rule(names.indexOf(name) === index, `${path}.${index}`, "Must appear in the list only once.")
  ])

const jsonValues: ReadonlySet<SchemaAST.AST["_tag"]> = new Set([
  "Arrays",
  "Boolean",
  "Enum",
  "Literal",
  "Null",
  "Number",
  "Objects",
  "String",
  "TemplateLiteral",
  "Union"
])

/** Finds parts of the facts that the served JSON Schema cannot express exactly as this service checks them. */
const checkFacts = (ast: SchemaAST.AST, path: string): Mistakes => {
  if (ast.encoding !== undefined) {
    return [
      { path, message: "Must not transform the sent value: validate the value here, and convert it in `assume`." }
    ]
  }
  if (!jsonValues.has(ast._tag)) {
    return [
      {
        path,
        message:
          "Must be text, a number, true or false, null, a choice, a list or a struct. For a fact that may be absent, use Schema.optionalKey."
      }
    ]
  }
  if (SchemaAST.resolveIdentifier(ast) !== undefined) {
    return [
      {
        path,
        message: "Must have no identifier, because the served JSON Schema contains no references."
      }
    ]
  }
  if (SchemaAST.isArrays(ast)) return [...ast.elements, ...ast.rest].flatMap((item) => checkFacts(item, `${path}.*`))
  if (SchemaAST.isUnion(ast)) return ast.types.flatMap((type) => checkFacts(type, path)).slice(0, 1)
  if (!SchemaAST.isObjects(ast)) return []
  return [
    ...ast.propertySignatures.flatMap(({ name, type }) => [
      ...rule(factNamePattern.test(String(name)), `${path}.${String(name)}`, factNameForm),
      ...checkFacts(type, `${path}.${String(name)}`)
    ]),
    ...ast.indexSignatures.flatMap(({ type }) => checkFacts(type, `${path}.*`))
  ]
}

/** Runs a function of a definition on the example. If the function throws, the result is a mistake at its path. */
export const tried = <A>(path: string, run: () => A): Result.Result<A, Mistakes> =>
  Result.try({
    try: run,
    catch: (thrown): Mistakes => [{ path, message: `Throws an error for the example: ${String(thrown)}` }]
  })

/** Runs a function of a definition on the example, and checks the result. */
export const checked = <A>(path: string, run: () => A, check: (value: A) => Mistakes): Mistakes =>
  Result.match(tried(path, run), { onSuccess: check, onFailure: (faults) => faults })

/** Why the example is refused, with paths within the example. */
export const ofExample = ({ wrong, missing }: Problems): Mistakes =>
  [...wrong, ...missing].map((error) => ({ ...error, path: error.path.replace(/^application/, "example") }))

/** Checks that every assumption is about a fact, and has the value that the fact's schema states, if any. */
export const checkAssumptions = (assumptions: ReadonlyArray<Assumption>, facts: ReadonlyArray<Fact>): Mistakes =>
  assumptions.flatMap(({ path, value }) => {
    const name = path.replace(/^application\./, "").replaceAll(/\.\d+(?=\.|$)/g, ".*")
    const fact = facts.find((candidate) => candidate.path === name)
    // A list may be assumed to be empty, but the list's own path is not the path of any fact.
    const isKnown = fact !== undefined || facts.some((candidate) => candidate.path.startsWith(`${name}.*`))
    const isSame = fact?.assumed === undefined || fact.assumed === tomorrow || fact.assumed === value
    return [
      ...rule(isKnown, `assume.${name}`, "Must be the path of a fact, because `assume` sets a value for it."),
      ...rule(isSame, `assume.${name}`, "Must be the value in this fact's x-assume.")
    ]
  })

/** The only assumed value that depends on the date. `assume` records the date itself. */
const tomorrow = "tomorrow"

/** Checks that `stateOf` returns the code of a served state. */
export const checkState = (state: string): Mistakes =>
  rule(
    stateCodes.some((code) => code === state),
    "stateOf",
    "Must return a USPS state code or DC, such as NY."
  )

/** Checks that there are subjects, and that their kinds are among the line's kinds. */
export const checkSubjects = (subjects: ReadonlyArray<Subject>, { subject_kinds }: Codes): Mistakes => [
  ...rule(subjects.length > 0, "subjectsOf", "Must return at least one subject."),
  ...subjects.flatMap(({ kind }, index) =>
    rule(subject_kinds.includes(kind), `subjectsOf.${index}.kind`, `Must be one of ${subject_kinds.join(", ")}.`)
  )
]
