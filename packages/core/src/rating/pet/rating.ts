import type { CoverageItem } from "../../carriers/Carrier.ts"
import type { Assumption } from "../../lines/Application.ts"
import { breedGroup, breedGroups } from "../../lines/pet/Breed.ts"
import { type PetFacts, type PetSubjectFacts, subjectsOf } from "../../lines/pet/complete.ts"
import { values } from "../../lines/pet/facts.ts"
import { pet as line } from "../../lines/pet/line.ts"
import { ageInYears, daysBetween, monthOf } from "../../wire/CalendarDay.ts"
import { limitedAbove, plain } from "../CoverageItems.ts"
import type { Coverage } from "../PlanFormat.ts"
import * as Rating from "../Rating.ts"
import { type Known, nearest, number, oneOf, sharedKnown, sharedVariables, type Variables, yesNo } from "../Variable.ts"

const oldestYears = 40
const oldestDays = 366 * oldestYears

const policyVariables = {
  ...sharedVariables,
  pets: number(1, 5),
  deductible_usd: oneOf(values.deductibles_usd),
  reimbursement_percent: oneOf(values.reimbursement_percents),
  annual_limit_usd: oneOf(values.annual_limits_usd),
  wellness: yesNo()
} as const satisfies Variables["policy"]

const petVariables = {
  plan: oneOf(values.plans),
  species: oneOf(values.species),
  breed_group: oneOf(breedGroups),
  age_years: number(0, oldestYears),
  // The number of days since the first day of the birth month.
  age_days: number(0, oldestDays, { may_be_unknown: true }),
  sex: oneOf(values.sexes, { may_be_unknown: true }),
  spayed_neutered: yesNo({ may_be_unknown: true }),
  microchipped: yesNo({ may_be_unknown: true })
} as const satisfies Variables["subject"]

type PetPlan = PetFacts["coverage"]["plan"]

/** A pet's age in completed years. A birth month is more precise than an age, so it takes precedence. */
const ageOf = (animal: PetSubjectFacts, today: string): number =>
  animal.birth_month === undefined ? (animal.age_years ?? 0) : ageInYears(animal.birth_month, monthOf(today))

const daysOf = ({ birth_month }: PetSubjectFacts, today: string): number | undefined =>
  birth_month === undefined ? undefined : nearest(daysBetween(`${birth_month}-01`, today), 0, oldestDays)

const policyKnown = (facts: PetFacts): Known<keyof typeof policyVariables> => ({
  ...sharedKnown(facts.residence, facts.billing_preference),
  pets: facts.pets.length,
  deductible_usd: facts.coverage.deductible_usd,
  reimbursement_percent: facts.coverage.reimbursement_percent,
  annual_limit_usd: facts.coverage.annual_limit_usd,
  wellness: facts.coverage.wellness
})

const petKnown = (animal: PetSubjectFacts, plan: PetPlan, today: string): Known<keyof typeof petVariables> => ({
  plan,
  species: animal.species,
  breed_group: breedGroup(animal),
  age_years: nearest(ageOf(animal, today), 0, oldestYears),
  age_days: daysOf(animal, today),
  sex: animal.sex,
  spayed_neutered: animal.spayed_neutered,
  microchipped: animal.microchipped
})

const coveragesOf = (facts: PetFacts, plan: PetPlan): ReadonlyArray<CoverageItem> => {
  const { annual_limit_usd, deductible_usd, wellness } = facts.coverage
  const limit = annual_limit_usd === "unlimited" ? null : annual_limit_usd
  const coversIllness = plan === "accident_illness"
  return [
    limitedAbove("accident", limit, deductible_usd),
    coversIllness ? limitedAbove("illness", limit, deductible_usd) : plain("illness", false),
    plain("wellness", wellness),
    plain("exam_fees", false),
    plain("prescription", coversIllness),
    plain("hereditary_conditions", coversIllness)
  ]
}

const waiting = (coverage: Coverage, plans: ReadonlyArray<PetPlan>): ReadonlyArray<string> => {
  const { accident_waiting_days: accident, illness_waiting_days: illness } = coverage
  const periods = [
    ...(accident === undefined ? [] : [`accidents ${accident} days`]),
    ...(illness === undefined || !plans.includes("accident_illness") ? [] : [`illness ${illness} days`])
  ]
  return periods.length === 0 ? [] : [`Waiting period: ${periods.join(", ")}.`]
}

const conditionsOf = (facts: PetFacts, coverage: Coverage, plans: ReadonlyArray<PetPlan>): ReadonlyArray<string> => [
  `Pays ${facts.coverage.reimbursement_percent}% of eligible bills after the deductible.`,
  ...waiting(coverage, plans),
  "Pre-existing conditions are not covered.",
  ...(facts.coverage.annual_limit_usd === "unlimited" ? ["No annual limit."] : [])
]

const replaced = (fromAge: number): Assumption => ({
  path: "application.coverage.plan",
  value: "accident_only",
  source: "carrier_default",
  label: `Pets of ${fromAge} years and more are covered for accidents only`
})

const covers = ["policy"] as const

/** The rating of the line for pet insurance. */
export const pet = Rating.make<PetFacts>({
  line,
  covers,
  variables: { policy: policyVariables, subject: petVariables, driver: {} },
  settings: ["accident_only_from_age", "accident_waiting_days", "illness_waiting_days"],
  riskOf: (facts, coverage, today) => {
    const askedPlan = facts.coverage.plan
    const fromAge = coverage.accident_only_from_age ?? Number.POSITIVE_INFINITY
    const plans = facts.pets.map((animal) => (ageOf(animal, today) >= fromAge ? "accident_only" : askedPlan))
    const known = policyKnown(facts)
    const subjects = subjectsOf(facts)
    return {
      state: facts.residence.state,
      effective_date: facts.effective_date,
      billing_preference: facts.billing_preference,
      policy: known,
      subjects: facts.pets.flatMap((animal, index) => {
        const [subject, plan] = [subjects[index], plans[index] ?? askedPlan]
        if (subject === undefined) return []
        const own = petKnown(animal, plan, today)
        return [{ subject, known: { ...known, ...own }, covers, coverages: coveragesOf(facts, plan) }]
      }),
      drivers: [],
      conditions: conditionsOf(facts, coverage, plans),
      assumptions: plans.every((plan) => plan === askedPlan) ? [] : [replaced(fromAge)]
    }
  }
})
