import { type JsonSchema, Schema } from "effect"
import { declineReasons } from "../carriers/Carrier.ts"
import * as Fact from "../lines/Fact.ts"
import { forLines } from "../lines/HostSchema.ts"
import { LineName } from "../lines/LineName.ts"
import { standard } from "../lines/Lines.ts"
import { stateCodes } from "../lines/State.ts"
import { textUpTo, wholeNumber } from "../wire/Input.ts"
import { highestAmount, neutral, roundings } from "./Amount.ts"

/*
 * The file format of rate plans. `check` in RatePlan.ts finds mistakes that this schema cannot express. Unknown members
 * are mistakes.
 */

/** The highest factor. A larger factor must be a typo. */
export const highestFactor = 100
/** The highest base rate, addition or fee, in cents: $100,000. */
export const highestRate = 10_000_000

const isFactor = (value: number): boolean =>
  value > 0 && value <= highestFactor && Math.abs(value * neutral - Math.round(value * neutral)) < 1e-6

const FactorValue = Schema.Finite.check(
  Schema.makeFilter(isFactor, {
    expected: `a factor above 0 and at most ${highestFactor}, with up to four decimals`,
    toJsonSchema: () => ({ exclusiveMinimum: 0, maximum: highestFactor })
  })
)
const Cents = wholeNumber(0, highestRate)
const Name = Schema.String.check(
  Schema.isPattern(/^[a-z][a-z0-9_]{0,59}$/u, { expected: "a name of lower-case letters, digits and underscores" })
)
const Sentence = textUpTo(300, 1)
const State = Schema.Literals(stateCodes)
const StateList = Fact.listOf(State, { min: 1, max: stateCodes.length })

/** The fields that say where a part of a plan applies: in all its states, in some of them, or in all except some. */
const stateFields = { states: Schema.optionalKey(StateList), except_states: Schema.optionalKey(StateList) }
/** Where a part of a plan applies. If both fields are absent, it applies in all states of the plan. */
export interface StateRule {
  readonly states?: ReadonlyArray<string>
  readonly except_states?: ReadonlyArray<string>
}

/** Makes the fields of a table whose values have this schema. */
const table = <Value extends Schema.Top>(value: Value) => ({
  by: Schema.optionalKey(Name.annotate({ description: "The variable that selects the value" })),
  values: Schema.optionalKey(
    Schema.Record(Schema.String, value).annotate({ description: "One value for each value of the variable" })
  ),
  bands: Schema.optionalKey(
    Fact.listOf(
      Schema.Struct({
        from: Schema.Int,
        to: Schema.optionalKey(
          Schema.Int.annotate({ description: "Leave it out in the last band, which has no upper end" })
        ),
        value
      }),
      { min: 1, max: 1_000 },
      { description: "Values by ranges of whole numbers, both ends included, without gaps" }
    )
  ),
  points: Schema.optionalKey(
    Fact.listOf(
      Schema.Struct({ at: Schema.Int, value }),
      { min: 2, max: 1_000 },
      { description: "Linear interpolation between the points; constant before the first and after the last" }
    )
  ),
  otherwise: Schema.optionalKey(value.annotate({ description: "For ZIP codes that `values` does not list" })),
  unknown: Schema.optionalKey(value.annotate({ description: "If the fact is not known" }))
})

/** A table that maps a variable's values to factors, or to amounts in cents. */
export interface Table {
  readonly by?: string
  readonly values?: { readonly [value: string]: number }
  readonly bands?: ReadonlyArray<{ readonly from: number; readonly to?: number; readonly value: number }>
  readonly points?: ReadonlyArray<{ readonly at: number; readonly value: number }>
  readonly otherwise?: number
  readonly unknown?: number
}

const TableFactor = Schema.Struct({
  name: Name,
  factor: Schema.optionalKey(FactorValue.annotate({ description: "A constant factor" })),
  ...table(FactorValue),
  ...stateFields
})
/** A factor: a constant, or a table. */
export type TableFactor = typeof TableFactor.Type

const Factor = Schema.Struct({
  ...TableFactor.fields,
  covers: Schema.optionalKey(Fact.listOf(Name, { min: 1, max: 20 }, { description: "Absent: all coverages" })),
  mean_of_drivers: Schema.optionalKey(
    Schema.Struct({
      at_most: Schema.optionalKey(FactorValue.annotate({ description: "The highest factor of one driver" })),
      factors: Fact.listOf(TableFactor, { min: 1, max: 20 })
    }).annotate({ description: "The average over all drivers of the product of these factors" })
  )
})
/** A factor in the premium: a constant, a table, or the average of the drivers' factors. */
export type Factor = typeof Factor.Type

const Base = Schema.Struct({ cents: Schema.optionalKey(Cents), ...table(Cents) })
const Addition = Schema.Struct({ name: Name, ...table(Cents), ...stateFields })
/** An amount that is added for each subject, in cents. */
export type Addition = typeof Addition.Type

const Scalar = Schema.Union([Schema.String, Schema.Finite, Schema.Boolean])
const Condition = Schema.Struct({
  by: Name,
  is: Schema.optionalKey(Fact.listOf(Scalar, { min: 1, max: 1_000 })),
  above: Schema.optionalKey(Schema.Int),
  below: Schema.optionalKey(Schema.Int)
})
/** A condition on one variable. It is false if the variable's value is unknown. */
export type Condition = typeof Condition.Type
const Conditions = Fact.listOf(Condition, { min: 1, max: 20 })

const Rule = Schema.Struct({
  reason: Schema.Literals(declineReasons),
  message: Schema.optionalKey(Sentence.annotate({ description: "For the person; must not repeat a fact" })),
  from: Schema.optionalKey(Fact.day({ description: "The first day that the rule applies" })),
  until: Schema.optionalKey(Fact.day({ description: "The last day that the rule applies" })),
  when: Schema.optionalKey(
    Conditions.annotate({ description: "All conditions must be true, for one subject and one driver" })
  ),
  ...stateFields
})
/** An underwriting rule, which says when the carrier declines and why. */
export type Rule = typeof Rule.Type

const Fee = Schema.Struct({
  code: Name,
  cents: Cents,
  times: Schema.optionalKey(
    Name.annotate({ description: "A variable that is a count, such as vehicles, to multiply by" })
  ),
  when: Schema.optionalKey(Conditions),
  ...stateFields
})
/** A fee for the whole term. */
export type Fee = typeof Fee.Type

const Coverage = Schema.Struct({
  offered: Schema.optionalKey(
    Schema.Record(Schema.String, Fact.listOf(Scalar, { min: 1, max: 100 })).annotate({
      description: "The choices that the carrier offers, by variable; all if a variable is absent. Others are declined"
    })
  ),
  loss_of_use_percent: Schema.optionalKey(
    wholeNumber(1, 100).annotate({ description: "Renters: coverage for loss of use, in percent of personal property" })
  ),
  accident_only_from_age: Schema.optionalKey(
    wholeNumber(1, 25).annotate({ description: "Pet: from this age in years, accidents only" })
  ),
  accident_waiting_days: Schema.optionalKey(wholeNumber(0, 365)),
  illness_waiting_days: Schema.optionalKey(wholeNumber(0, 365))
})
/** A plan's rules for coverages. */
export type Coverage = typeof Coverage.Type

const Example = Schema.Struct({
  name: textUpTo(100, 1),
  on: Fact.day({ description: "The day of the quote request" }),
  application: Schema.Record(Schema.String, Schema.Unknown).annotate({
    description: "The facts, as a caller sends them in `application`"
  }),
  premium_cents: Schema.optionalKey(wholeNumber(1, highestAmount)),
  declined: Schema.optionalKey(Schema.Literals(declineReasons)),
  steps: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Int).annotate({ description: "Intermediate amounts in cents, by step" })
  )
})
/** A worked example: facts, and the premium or decline that the plan must give for them. */
export type Example = typeof Example.Type

/** The name of the format with its version, to distinguish later versions. */
export const format = "quotewire-rate-plan/1"

/** One carrier's rates for one line, as in the file. Amounts are in cents, and factors are decimals. */
export const RatePlan = Schema.Struct({
  $schema: Schema.optionalKey(Schema.String),
  format: Schema.Literal(format),
  carrier: Schema.Struct({
    id: Schema.String.check(
      Schema.isPattern(/^[a-z][a-z0-9_:.-]{1,63}$/u, { expected: "an id such as naic:12345" })
    ).annotate({ description: "`naic:` and five digits for a real carrier" }),
    name: textUpTo(100, 1)
  }),
  line: LineName,
  product: textUpTo(100, 1),
  reviewed_on: Fact.day({ description: "The day on which a person last compared the plan with the filed rates" }),
  states: StateList,
  rounding: Schema.Literals(roundings).annotate({
    description: "The unit to which the amount is rounded after each factor"
  }),
  base_cents: Schema.Record(Schema.String, Base).annotate({
    description: "The base rate of each of the line's coverages, for twelve months"
  }),
  factors: Fact.listOf(Factor, { max: 100 }, { description: "In the order in which they are applied" }),
  additions_cents: Schema.optionalKey(Fact.listOf(Addition, { max: 50 })),
  minimum_each_cents: Schema.optionalKey(
    Cents.annotate({ description: "The lowest price of one subject for twelve months" })
  ),
  minimum_cents: wholeNumber(1, highestRate).annotate({ description: "The lowest premium of a policy for its term" }),
  maximum_cents: Schema.optionalKey(
    wholeNumber(1, highestAmount - 1).annotate({ description: "A higher premium is declined" })
  ),
  terms: Schema.Struct({
    months: Schema.Literals([1, 6, 12]),
    valid_days: wholeNumber(1, 365).annotate({ description: "How long an offer is valid" }),
    first_start_days: wholeNumber(0, 60).annotate({ description: "The earliest start, in days after the request" }),
    last_start_days: wholeNumber(0, 60).annotate({ description: "The latest start, in days after the request" }),
    pay_in_full_factor: Schema.optionalKey(FactorValue)
  }),
  fees: Schema.optionalKey(Fact.listOf(Fee, { max: 50 })),
  underwriting: Fact.listOf(Rule, { max: 200 }, { description: "The first rule that applies decides" }),
  coverage: Schema.optionalKey(Coverage),
  conditions: Schema.optionalKey(Fact.listOf(Sentence, { max: 20 }, { description: "Shown with every price" })),
  evidence_label: Schema.optionalKey(Sentence.annotate({ description: "How reliable the price is, for a person" })),
  handoff: Schema.optionalKey(
    Schema.Struct({
      hosts: Fact.listOf(textUpTo(253, 1), { min: 1, max: 20 }),
      url: textUpTo(1_000, 1).annotate({ description: "https; {offer_ref} is replaced by the reference of the offer" })
    }).annotate({ description: "Where the person continues with the offer" })
  ),
  examples: Fact.listOf(Example, { min: 1, max: 100 })
}).annotate({ title: "Rate plan" })

/** One carrier's rates for one line. */
export type RatePlan = typeof RatePlan.Type

const document = Schema.toJsonSchemaDocument(forLines(RatePlan, standard), { onExcessProperty: "error" })

/**
 * The JSON Schema (2020-12) of a rate plan file for a standard line, for use in editors. `RatePlan.check` also finds
 * mistakes that JSON Schema cannot express.
 */
export const ratePlanSchema: JsonSchema.JsonSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  ...document.schema,
  ...(Object.keys(document.definitions).length > 0 && { $defs: document.definitions })
}
