import { Schema } from "effect"
import * as Fact from "../Fact.ts"
import { Applicant, address, policyFacts } from "../sharedFacts.ts"

/** The values that facts can have, for those that rate plans also have a factor for. */
export const values = {
  dwelling_types: ["apartment", "condo", "townhouse", "duplex", "single_family", "mobile_home", "other"],
  liability_limits_usd: [100_000, 300_000, 500_000],
  medical_payments_usd: [1_000, 2_500, 5_000],
  deductibles_usd: [250, 500, 1_000, 2_500]
} as const

const Dwelling = Schema.Struct({
  address: address({ state: "State of the rented home", zip: "ZIP code of the rented home" }),
  type: Fact.choice(values.dwelling_types, { label: "Kind of home", "x-tier": "price" }),
  year_built: Schema.optionalKey(Fact.wholeNumber(1700, 2028)),
  units_in_building: Schema.optionalKey(Fact.wholeNumber(1, 2000)),
  automatic_sprinkler: Schema.optionalKey(Fact.yesNo()),
  monitored_burglar_alarm: Schema.optionalKey(Fact.yesNo()),
  short_term_rental: Schema.optionalKey(Fact.yesNo({ "x-assume": { value: false } })),
  student_housing: Schema.optionalKey(Fact.yesNo({ "x-assume": { value: false } }))
})

const Coverage = Schema.Struct({
  personal_property_usd: Schema.optionalKey(
    Fact.wholeNumber(5_000, 150_000, { step: 1_000, "x-assume": { value: 30_000 } })
  ),
  liability_usd: Schema.optionalKey(Fact.choice(values.liability_limits_usd, { "x-assume": { value: 100_000 } })),
  medical_payments_usd: Schema.optionalKey(Fact.choice(values.medical_payments_usd, { "x-assume": { value: 1_000 } })),
  deductible_usd: Schema.optionalKey(Fact.choice(values.deductibles_usd, { "x-assume": { value: 500 } })),
  replacement_cost: Schema.optionalKey(Fact.yesNo({ "x-assume": { value: true } }))
})

const Household = Schema.Struct({
  residents: Schema.optionalKey(Fact.wholeNumber(1, 12)),
  claims_last_5_years: Schema.optionalKey(Fact.wholeNumber(0, 10, { "x-assume": { value: 0 } })),
  dog_with_bite_history: Schema.optionalKey(Fact.yesNo({ "x-assume": { value: false } }))
})

/** The facts of renters insurance, as a caller sends them. */
export const Renters = Schema.Struct({
  applicant: Schema.optionalKey(Applicant),
  dwelling: Dwelling,
  coverage: Schema.optionalKey(Coverage),
  household: Schema.optionalKey(Household),
  landlord_minimum_liability_usd: Schema.optionalKey(Fact.choice(values.liability_limits_usd)),
  ...policyFacts
})
export type Renters = typeof Renters.Type
