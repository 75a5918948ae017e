import { type Assumptions, type Scalar, type Subject, subject, type WithRequired } from "../Application.ts"
import { completePolicy } from "../SharedFacts.ts"
import type { StateCode } from "../State.ts"
import type { Pet } from "./facts.ts"

type PetCoverage = NonNullable<Pet["coverage"]>

/**
 * A dog or cat, with the assumed facts. It has `birth_month` (`YYYY-MM`), `age_years`, or both. The month is more
 * precise, so it takes precedence.
 */
export interface PetSubjectFacts extends WithRequired<Pet["pets"][number], "prior_conditions"> {}

/** The coverages of a pet policy, in whole US dollars and percent. */
export interface PetCoverageFacts
  extends WithRequired<
    PetCoverage,
    "plan" | "wellness" | "deductible_usd" | "reimbursement_percent" | "annual_limit_usd"
  > {}

/** The complete facts of a pet insurance application. */
export interface PetFacts
  extends Omit<WithRequired<Pet, "billing_preference" | "effective_date">, "pets" | "coverage"> {
  readonly pets: ReadonlyArray<PetSubjectFacts>
  readonly coverage: PetCoverageFacts
}

/** Adds the assumed facts for pet insurance. `today` is the date in the workspace, `YYYY-MM-DD`. */
export const assume = (facts: Pet, today: string, assumptions: Assumptions): PetFacts => {
  const { coverage } = facts
  const cover = <A extends Scalar>(fact: A | undefined, name: string, value: A, label: string): A =>
    assumptions.fill(fact, `coverage.${name}`, value, label)
  return {
    ...facts,
    ...completePolicy(facts, today, assumptions),
    pets: facts.pets.map((pet, i) => ({
      ...pet,
      prior_conditions: assumptions.fill(
        pet.prior_conditions,
        `pets.${i}.prior_conditions`,
        "unknown",
        "Not known whether there were health conditions before"
      )
    })),
    coverage: {
      ...coverage,
      plan: cover(coverage?.plan, "plan", "accident_illness", "Accidents and illness"),
      wellness: cover(coverage?.wellness, "wellness", false, "Without wellness coverage"),
      deductible_usd: cover(coverage?.deductible_usd, "deductible_usd", 500, "$500 deductible a year"),
      reimbursement_percent: cover(
        coverage?.reimbursement_percent,
        "reimbursement_percent",
        80,
        "Pays 80% of eligible bills"
      ),
      annual_limit_usd: cover(coverage?.annual_limit_usd, "annual_limit_usd", 10_000, "Pays up to $10,000 a year")
    }
  }
}

/** The state in which carriers are asked: the state of the residence. */
export const stateOf = (facts: Pet): StateCode => facts.residence.state

const petLabel = (animal: Pet["pets"][number]): string => {
  if (animal.name !== undefined) return animal.name
  const species = animal.species === "dog" ? "Dog" : "Cat"
  const breed = animal.breed.replaceAll("_", " ")
  if (animal.age_years === undefined) return `${species}, ${breed}, born ${animal.birth_month}`
  return `${species}, ${breed}, ${animal.age_years} ${animal.age_years === 1 ? "year" : "years"}`
}

/** The insured subjects of a pet policy: its pets. */
export const subjectsOf = (facts: Pet): ReadonlyArray<Subject> =>
  facts.pets.map((animal, i) => subject("pet", i, petLabel(animal)))
