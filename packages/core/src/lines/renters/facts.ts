import { Schema } from "effect"
import * as Fact from "../Fact.ts"
import { Applicant, address, policyFacts } from "../SharedFacts.ts"

/** The values of facts for which rate plans have factors. */
export const values = {
  dwelling_types: ["apartment", "condo", "townhouse", "duplex", "single_family", "mobile_home", "other"],
  liability_limits_usd: [100_000, 300_000, 500_000],
  medical_payments_usd: [1_000, 2_500, 5_000],
  deductibles_usd: [250, 500, 1_000, 2_500]
} as const

const Dwelling = Schema.Struct({
  address: address({
    of: "The address of the rented home",
    state: "State of the rented home",
    zip: "ZIP code of the rented home"
  }),
  type: Fact.choice(values.dwelling_types, {
    title: "What kind of home it is",
    label: "Kind of home",
    "x-tier": "price"
  }),
  year_built: Schema.optionalKey(Fact.wholeNumber(1700, 2028, { title: "The year the building was finished" })),
  units_in_building: Schema.optionalKey(Fact.wholeNumber(1, 2000, { title: "How many homes the building has" })),
  automatic_sprinkler: Schema.optionalKey(Fact.yesNo({ title: "Whether the building has automatic fire sprinklers" })),
  monitored_burglar_alarm: Schema.optionalKey(
    Fact.yesNo({ title: "Whether a company monitors a burglar alarm in the home" })
  ),
  short_term_rental: Schema.optionalKey(
    Fact.yesNo({ title: "Whether the person rents the home out for short stays", "x-assume": { value: false } })
  ),
  student_housing: Schema.optionalKey(
    Fact.yesNo({ title: "Whether the home is a dormitory or other student housing", "x-assume": { value: false } })
  )
}).annotate({ title: "The rented home" })

const Coverage = Schema.Struct({
  personal_property_usd: Schema.optionalKey(
    Fact.wholeNumber(5_000, 150_000, {
      title: "The limit for the person's belongings, in US dollars",
      step: 1_000,
      "x-assume": { value: 30_000 }
    })
  ),
  liability_usd: Schema.optionalKey(
    Fact.choice(values.liability_limits_usd, {
      title: "The limit for damage that the person causes, in US dollars",
      "x-assume": { value: 100_000 }
    })
  ),
  medical_payments_usd: Schema.optionalKey(
    Fact.choice(values.medical_payments_usd, {
      title: "The limit for medical treatment of an injured guest, in US dollars",
      "x-assume": { value: 1_000 }
    })
  ),
  deductible_usd: Schema.optionalKey(
    Fact.choice(values.deductibles_usd, {
      title: "The deductible for each claim, in US dollars",
      "x-assume": { value: 500 }
    })
  ),
  replacement_cost: Schema.optionalKey(
    Fact.yesNo({
      title: "Whether belongings are replaced with new ones, instead of paid at their current value",
      "x-assume": { value: true }
    })
  )
}).annotate({ title: "What should be covered" })

const Household = Schema.Struct({
  residents: Schema.optionalKey(Fact.wholeNumber(1, 12, { title: "How many people live in the home" })),
  claims_last_5_years: Schema.optionalKey(
    Fact.wholeNumber(0, 10, {
      title: "How many claims the household made in the last five years",
      "x-assume": { value: 0 }
    })
  ),
  dog_with_bite_history: Schema.optionalKey(
    Fact.yesNo({ title: "Whether a dog in the household has bitten anyone", "x-assume": { value: false } })
  )
}).annotate({ title: "Who lives in the home" })

/** The facts for renters insurance, as a caller sends them. */
export const Renters = Schema.Struct({
  applicant: Schema.optionalKey(Applicant),
  dwelling: Dwelling,
  coverage: Schema.optionalKey(Coverage),
  household: Schema.optionalKey(Household),
  landlord_minimum_liability_usd: Schema.optionalKey(
    Fact.choice(values.liability_limits_usd, {
      title: "The minimum liability limit that the lease requires, in US dollars"
    })
  ),
  ...policyFacts
})
export interface Renters extends Schema.Schema.Type<typeof Renters> {}
