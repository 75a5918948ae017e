import type { CoverageItem } from "../../carriers/Carrier.ts"
import type { Assumption } from "../../lines/Application.ts"
import { type RentersFacts, subjectsOf } from "../../lines/renters/complete.ts"
import { values } from "../../lines/renters/facts.ts"
import { renters as line } from "../../lines/renters/line.ts"
import { deductible, limited, plain } from "../CoverageItems.ts"
import type { Coverage } from "../PlanFormat.ts"
import * as Rating from "../Rating.ts"
import { type Known, number, oneOf, sharedKnown, sharedVariables, type Variables, yesNo } from "../Variable.ts"

const policyVariables = {
  ...sharedVariables,
  personal_property_usd: number(5_000, 150_000),
  liability_usd: oneOf(values.liability_limits_usd),
  medical_payments_usd: oneOf(values.medical_payments_usd),
  deductible_usd: oneOf(values.deductibles_usd),
  replacement_cost: yesNo(),
  dwelling_type: oneOf(values.dwelling_types),
  year_built: number(1_700, 2_028, { may_be_unknown: true }),
  units_in_building: number(1, 2_000, { may_be_unknown: true }),
  automatic_sprinkler: yesNo({ may_be_unknown: true }),
  monitored_burglar_alarm: yesNo({ may_be_unknown: true }),
  short_term_rental: yesNo(),
  student_housing: yesNo(),
  residents: number(1, 12, { may_be_unknown: true }),
  claims_last_5_years: number(0, 10),
  dog_with_bite_history: yesNo()
} as const satisfies Variables["policy"]

/** The liability limit, which is the renter's choice, or the landlord's minimum if that is higher. */
const liabilityOf = (facts: RentersFacts): number =>
  Math.max(facts.coverage.liability_usd, facts.landlord_minimum_liability_usd ?? 0)

const raised = (facts: RentersFacts): ReadonlyArray<Assumption> => {
  const value = liabilityOf(facts)
  if (value === facts.coverage.liability_usd) return []
  const path = "application.coverage.liability_usd"
  return [{ path, value, source: "carrier_default", label: "Raised to the landlord's minimum" }]
}

const coveragesOf = (facts: RentersFacts, lossOfUsePercent: number | undefined): ReadonlyArray<CoverageItem> => {
  const { coverage } = facts
  return [
    limited("personal_property", coverage.personal_property_usd),
    plain("replacement_cost", coverage.replacement_cost),
    lossOfUsePercent === undefined
      ? plain("loss_of_use", false)
      : limited("loss_of_use", Math.floor((coverage.personal_property_usd * lossOfUsePercent) / 100)),
    limited("liability", liabilityOf(facts)),
    limited("medical_payments", coverage.medical_payments_usd),
    deductible("deductible", coverage.deductible_usd),
    plain("water_backup", false),
    plain("identity_theft", false)
  ]
}

const knownOf = (facts: RentersFacts): Known<keyof typeof policyVariables> => {
  const { coverage, dwelling, household } = facts
  return {
    ...sharedKnown(dwelling.address, facts.billing_preference),
    personal_property_usd: coverage.personal_property_usd,
    liability_usd: liabilityOf(facts),
    medical_payments_usd: coverage.medical_payments_usd,
    deductible_usd: coverage.deductible_usd,
    replacement_cost: coverage.replacement_cost,
    dwelling_type: dwelling.type,
    year_built: dwelling.year_built,
    units_in_building: dwelling.units_in_building,
    automatic_sprinkler: dwelling.automatic_sprinkler,
    monitored_burglar_alarm: dwelling.monitored_burglar_alarm,
    short_term_rental: dwelling.short_term_rental,
    student_housing: dwelling.student_housing,
    residents: household.residents,
    claims_last_5_years: household.claims_last_5_years,
    dog_with_bite_history: household.dog_with_bite_history
  }
}

const covers = ["policy"] as const

/** The rating of the line for renters insurance. */
export const renters = Rating.make<RentersFacts>({
  line,
  covers,
  variables: { policy: policyVariables, subject: {}, driver: {} },
  settings: ["loss_of_use_percent"],
  riskOf: (facts, { loss_of_use_percent }: Coverage) => {
    const variables = knownOf(facts)
    const coverages = coveragesOf(facts, loss_of_use_percent)
    return {
      state: facts.dwelling.address.state,
      effective_date: facts.effective_date,
      billing_preference: facts.billing_preference,
      policy: variables,
      subjects: subjectsOf(facts).map((subject) => ({ subject, known: variables, covers, coverages })),
      drivers: [],
      conditions: [],
      assumptions: raised(facts)
    }
  }
})
