import { type Assumptions, type Scalar, type Subject, subject, type WithRequired } from "../Application.ts"
import { completePolicy } from "../SharedFacts.ts"
import type { StateCode } from "../State.ts"
import type { Renters } from "./facts.ts"

type RentersCoverage = NonNullable<Renters["coverage"]>
type Household = NonNullable<Renters["household"]>

/** A rented home, with the assumed facts. */
export interface DwellingFacts extends WithRequired<Renters["dwelling"], "short_term_rental" | "student_housing"> {}

/** The coverages of a renters policy, in whole US dollars. */
export interface RentersCoverageFacts
  extends WithRequired<
    RentersCoverage,
    "personal_property_usd" | "liability_usd" | "medical_payments_usd" | "deductible_usd" | "replacement_cost"
  > {}

/** The household in a rented home, with the assumed facts. */
export interface HouseholdFacts extends WithRequired<Household, "claims_last_5_years" | "dog_with_bite_history"> {}

/** The complete facts of a renters insurance application. */
export interface RentersFacts
  extends Omit<WithRequired<Renters, "billing_preference" | "effective_date">, "dwelling" | "coverage" | "household"> {
  readonly dwelling: DwellingFacts
  readonly coverage: RentersCoverageFacts
  readonly household: HouseholdFacts
}

/** Adds the assumed facts for renters insurance. `today` is the date in the workspace, `YYYY-MM-DD`. */
export const assume = (facts: Renters, today: string, assumptions: Assumptions): RentersFacts => {
  const { dwelling, coverage, household } = facts
  const cover = <A extends Scalar>(fact: A | undefined, name: string, value: A, label: string): A =>
    assumptions.fill(fact, `coverage.${name}`, value, label)
  return {
    ...facts,
    ...completePolicy(facts, today, assumptions),
    dwelling: {
      ...dwelling,
      short_term_rental: assumptions.fill(
        dwelling.short_term_rental,
        "dwelling.short_term_rental",
        false,
        "Not rented to guests"
      ),
      student_housing: assumptions.fill(
        dwelling.student_housing,
        "dwelling.student_housing",
        false,
        "Not student housing"
      )
    },
    coverage: {
      ...coverage,
      personal_property_usd: cover(
        coverage?.personal_property_usd,
        "personal_property_usd",
        30_000,
        "$30,000 of belongings"
      ),
      liability_usd: cover(coverage?.liability_usd, "liability_usd", 100_000, "$100,000 of liability coverage"),
      medical_payments_usd: cover(
        coverage?.medical_payments_usd,
        "medical_payments_usd",
        1_000,
        "$1,000 for hurt guests"
      ),
      deductible_usd: cover(coverage?.deductible_usd, "deductible_usd", 500, "$500 deductible"),
      replacement_cost: cover(
        coverage?.replacement_cost,
        "replacement_cost",
        true,
        "Belongings replaced at the price of new ones"
      )
    },
    household: {
      ...household,
      claims_last_5_years: assumptions.fill(
        household?.claims_last_5_years,
        "household.claims_last_5_years",
        0,
        "No claims in the last 5 years"
      ),
      dog_with_bite_history: assumptions.fill(
        household?.dog_with_bite_history,
        "household.dog_with_bite_history",
        false,
        "No dog that has bitten someone"
      )
    }
  }
}

/** The state in which carriers are asked: the state of the rented home. */
export const stateOf = (facts: Renters): StateCode => facts.dwelling.address.state

const homes: { readonly [T in Renters["dwelling"]["type"]]: string } = {
  apartment: "apartment",
  condo: "condo",
  townhouse: "townhouse",
  duplex: "duplex",
  single_family: "house",
  mobile_home: "mobile home",
  other: "home"
}

const dwellingLabel = ({ address, type }: Renters["dwelling"]): string =>
  `Rented ${homes[type]} in ${address.city === undefined ? "" : `${address.city}, `}${address.state}`

/** The insured subject of a renters policy: the rented home. */
export const subjectsOf = (facts: Renters): ReadonlyArray<Subject> => [
  subject("dwelling", 0, dwellingLabel(facts.dwelling))
]
