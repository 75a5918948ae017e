import { Option, Result, Schema } from "effect"
import { Callable, checker, schemaThat } from "../wire/Argument.ts"
import type { FieldError } from "../wire/FieldError.ts"
import { Assumptions, type Draft, type Rules, reader, type Subject } from "./Application.ts"
import { asRequired, factsOf, firstOf, jsonSchemaOf } from "./FactSchema.ts"
import type { Line, RatedApplication, Traits } from "./Line.ts"
import * as LineRules from "./LineRules.ts"
import type { StateCode } from "./State.ts"

/** The values for omitted parts of a definition. They suit most lines. */
const lineDefaults = {
  meanings: {},
  disclosures: [],
  stateLaw: () => ({}),
  has_credit_disclosure: false,
  premium_includes_fees: false,
  has_quote_events: true
} satisfies Partial<Traits>

/**
 * The definition of a line. `Sent` is the type of the facts as a caller sends them, and `Complete` is the type with
 * assumed facts added.
 */
export interface LineDefinition<
  Name extends string,
  Sent extends object,
  Complete extends object,
  HasCredit extends boolean = boolean
> extends Omit<Traits<Name, HasCredit>, keyof typeof lineDefaults>,
    Partial<Pick<Traits<Name, HasCredit>, keyof typeof lineDefaults>> {
  /** The date on which the schema of the facts last changed, `YYYY-MM-DD`. It serves as the schema's version. */
  readonly facts_version: string
  /**
   * The schema of the facts: a struct of JSON values without transformations. It checks what callers send, and is
   * served as JSON Schema.
   */
  readonly facts: Schema.Decoder<Sent & Draft<Sent>> & Schema.Top
  /** The smallest application that can be priced. */
  readonly example: NoInfer<Sent>
  /** Rules that JSON Schema cannot express; by default no rules. */
  readonly rules?: Rules<Sent>
  /** Completes the facts, and records each assumption in `assumptions`. */
  readonly assume: (facts: Sent, today: string, assumptions: Assumptions) => Complete
  /** Returns the state in which carriers are asked. */
  readonly stateOf: (facts: Sent) => StateCode
  readonly subjectsOf: (facts: Complete) => ReadonlyArray<Subject>
}

const Names = Schema.Array(Schema.String)

const checked = checker(
  "defineLine",
  Schema.Struct({
    name: Schema.String,
    insures: Schema.String,
    facts_version: Schema.String,
    facts: schemaThat("Must be a Schema.Struct."),
    codes: Schema.Struct({ coverage_codes: Names, subject_kinds: Names, billing_cycles: Names, fee_codes: Names }),
    meanings: Schema.optional(Schema.Record(Schema.String, Schema.String)),
    disclosures: Schema.optional(Names),
    rules: Schema.optional(Callable),
    assume: Callable,
    stateOf: Callable,
    subjectsOf: Callable
  })
)

/**
 * Defines an insurance line: which facts it asks for, what may be assumed, and which codes its quotes use.
 *
 * By default, a line has no disclosures, no state law and no credit disclosure, whether premiums include fees is
 * unknown, and the feed has events about the line's quotes. A host that offers the line checks the definition when it
 * starts, and reports every mistake with its path.
 *
 * @example
 * const bicycle = defineLine({
 *   name: "bicycle",
 *   insures: "bicycles",
 *   facts_version: "2026-11-20",
 *   facts: Schema.Struct({ address: SharedFacts.address(labels), value_usd: Fact.wholeNumber(100, 20_000) }),
 *   …
 * })
 */
export const defineLine = <
  const Name extends string,
  Sent extends object,
  Complete extends object = Sent,
  const HasCredit extends boolean = false
>(
  definition: LineDefinition<Name, Sent, Complete, HasCredit>
): Line<Name, Complete, Sent, HasCredit | false> => {
  const {
    assume,
    example,
    facts: schema,
    facts_version,
    rules = () => {},
    stateOf,
    subjectsOf,
    ...ownFields
  } = checked(definition)
  const line = definition.name
  const allFacts = factsOf(schema)
  const read = reader(line, schema, rules)
  const decode = Schema.decodeUnknownOption(schema)
  // An application for this line exists only if its facts were read with this line's schema.
  const isOwn = (application: RatedApplication): application is RatedApplication<Complete> => application.line === line
  return {
    ...lineDefaults,
    ...ownFields,
    example,
    get facts_schema() {
      return {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        $id: `application.${line}.${facts_version}`,
        ...jsonSchemaOf(schema)
      }
    },
    required_facts: allFacts
      .filter(({ required, tier }) => required && (tier === null || tier === "price"))
      .map((fact) => asRequired(fact, "price")),
    price_paths: allFacts.filter(({ tier }) => tier === "price").map(({ path }) => `application.${firstOf(path)}`),
    fact_paths: allFacts.map(({ path }) => path),
    identifying_paths: allFacts.filter(({ pii, tier }) => pii === "direct" && tier === "offer").map(({ path }) => path),
    neededFact: (requirement) => {
      const fact = allFacts.find(({ path }) => path === requirement)
      return asRequired(fact ?? { path: requirement, label: null, tier: null, pii: null }, "offer")
    },
    read,
    complete: (sentFacts, today) =>
      Option.getOrNull(
        Option.map(decode(sentFacts), (facts) => {
          const collected = new Assumptions()
          const complete = assume(facts, today, collected)
          const assumptions = collected.sorted()
          return { line, facts: complete, assumptions, state: stateOf(facts), subjects: subjectsOf(complete) }
        })
      ),
    factsOf: (application) => {
      if (isOwn(application)) return application.facts
      throw new Error(`Expected facts for the line ${line}, but got facts for ${application.line}`)
    },
    faults: () => mistakesIn({ ...lineDefaults, ...definition, rules }, read)
  }
}

/** Finds the mistakes in a definition. Runs its functions on its example, with `facts_version` as the date. */
const mistakesIn = <Sent extends object, Complete extends object>(
  definition: Required<LineDefinition<string, Sent, Complete>>,
  read: ReturnType<typeof reader<Sent>>
): ReadonlyArray<FieldError> => {
  const faults = LineRules.checkTexts(definition)
  if (faults.length > 0) return faults
  const { assume, codes, example, facts, facts_version: today, stateOf, subjectsOf } = definition
  const exampleRead = LineRules.tried("rules", () => read(example, today))
  if (Result.isFailure(exampleRead)) return exampleRead.failure
  if (Result.isFailure(exampleRead.success)) return LineRules.ofExample(exampleRead.success.failure)
  const { facts: exampleFacts } = exampleRead.success.success
  const assumptions = new Assumptions()
  const complete = LineRules.tried("assume", () => assume(exampleFacts, today, assumptions))
  if (Result.isFailure(complete)) return complete.failure
  return [
    ...LineRules.checkAssumptions(assumptions.sorted(), factsOf(facts)),
    ...LineRules.checked("stateOf", () => stateOf(exampleFacts), LineRules.checkState),
    ...LineRules.checked(
      "subjectsOf",
      () => subjectsOf(complete.success),
      (subjects) => LineRules.checkSubjects(subjects, codes)
    )
  ]
}
