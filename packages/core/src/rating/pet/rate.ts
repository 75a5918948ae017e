import type { CoverageItem } from "../../carriers/Carrier.ts"
import type { Assumption } from "../../lines/Application.ts"
import type { PetFacts, PetSubjectFacts } from "../../lines/pet/assume.ts"
import { breedGroup } from "../../lines/pet/Breed.ts"
import * as State from "../../lines/State.ts"
import { ageInYears, monthOf } from "../../wire/Timestamp.ts"
import { limitedAbove, plain, type Rated } from "../Rated.ts"
import { factor, mulAll, step } from "../RatePlan.ts"
import { type PetCarrierPlan, plan as petPlan } from "./plan.ts"

const { factors, band_bp } = petPlan

const several_pets = 9_500
const term_months = 12
// The key that the plan uses for a policy without an annual limit.
const unlimited = 0

/** The plan of a pet. */
export type PetPlan = PetFacts["coverage"]["plan"]

/** A pet's age in completed years. A month of birth is more precise than an age in years, and is preferred. */
export const petAge = (pet: PetSubjectFacts, today: string): number =>
  pet.birth_month === undefined ? (pet.age_years ?? 0) : ageInYears(pet.birth_month, monthOf(today))

const limitOf = (facts: PetFacts): number =>
  facts.coverage.annual_limit_usd === "unlimited" ? unlimited : facts.coverage.annual_limit_usd

const petPrice = (facts: PetFacts, pet: PetSubjectFacts, petPlan: PetPlan, plan: PetCarrierPlan, today: string) => {
  const { coverage, pets, residence } = facts
  const price = mulAll(factor(factors.base, pet.species), [
    factor(band_bp, State.get(residence.state).pet_band),
    step(factors.age, petAge(pet, today)),
    factor(factors.breed, breedGroup(pet)),
    factor(factors.ded, coverage.deductible_usd),
    factor(factors.reimb, coverage.reimbursement_percent),
    factor(factors.limit, limitOf(facts)),
    factor(factors.plan, petPlan),
    plan.base,
    ...(pets.length > 1 ? [several_pets] : [])
  ])
  return Math.max(plan.minimum, price + (coverage.wellness ? plan.wellness : 0))
}

const coveragesOf = (facts: PetFacts, petPlan: PetPlan): ReadonlyArray<CoverageItem> => {
  const { annual_limit_usd, deductible_usd, wellness } = facts.coverage
  const limit = annual_limit_usd === "unlimited" ? null : annual_limit_usd
  const illness = petPlan === "accident_illness"
  return [
    limitedAbove("accident", limit, deductible_usd),
    illness ? limitedAbove("illness", limit, deductible_usd) : plain("illness", false),
    plain("wellness", wellness),
    plain("exam_fees", false),
    plain("prescription", illness),
    plain("hereditary_conditions", illness)
  ]
}

const conditionsOf = (facts: PetFacts, petPlans: ReadonlyArray<PetPlan>): ReadonlyArray<string> => [
  `Pays ${facts.coverage.reimbursement_percent}% of eligible bills after the deductible.`,
  petPlans.includes("accident_illness")
    ? "Waiting period: accidents 0 days, illness 14 days."
    : "Waiting period: accidents 0 days.",
  "Pre-existing conditions are not covered.",
  ...(facts.coverage.annual_limit_usd === "unlimited" ? ["No annual limit."] : [])
]

/**
 * The price of a pet policy for twelve months.
 *
 * From the age `accident_only_from` a pet is covered for accidents only, whatever plan the application asks for.
 */
export const ratePet = (
  facts: PetFacts,
  plan: PetCarrierPlan,
  today: string,
  accident_only_from: number = Number.POSITIVE_INFINITY
): Rated => {
  const asked = facts.coverage.plan
  const petPlans = facts.pets.map((pet) => (petAge(pet, today) >= accident_only_from ? "accident_only" : asked))
  const prices = facts.pets.map((pet, index) => petPrice(facts, pet, petPlans[index] ?? asked, plan, today))
  const replaced: ReadonlyArray<Assumption> = petPlans.every((petPlan) => petPlan === asked)
    ? []
    : [
        {
          path: "application.coverage.plan",
          value: "accident_only",
          source: "carrier_default",
          label: `Pets of ${accident_only_from} years and more are covered for accidents only`
        }
      ]
  return {
    premium: prices.reduce((sum, price) => sum + price, 0),
    term_months,
    fees: [],
    coverages: petPlans.map((petPlan) => coveragesOf(facts, petPlan)),
    conditions: conditionsOf(facts, petPlans),
    assumptions: replaced
  }
}
