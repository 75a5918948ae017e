import type { PersonalAutoApplication, PetApplication, RentersApplication, StateCode } from "./facts.types.ts"

/*
 * The facts that a price is made from: what the caller sent, with every fact that the specification lets the service
 * assume filled in. `Application.assume` makes them; rating code reads nothing else.
 */

/** `T` with the named members always there. */
type With<T, K extends keyof T> = T & { readonly [P in K]-?: Exclude<T[P], undefined> }

type AutoDriver = PersonalAutoApplication["drivers"][number]
type AutoVehicle = PersonalAutoApplication["vehicles"][number]
type AutoCoverage = NonNullable<PersonalAutoApplication["coverage"]>
type PriorInsurance = NonNullable<PersonalAutoApplication["prior_insurance"]>
type RentersCoverage = NonNullable<RentersApplication["coverage"]>
type Household = NonNullable<RentersApplication["household"]>
type PetCoverage = NonNullable<PetApplication["coverage"]>

/** A driver. `date_of_birth` is `YYYY-MM-DD`. */
export interface DriverFacts
  extends With<AutoDriver, "license_state" | "years_licensed" | "sr22_required" | "incidents"> {}

/**
 * A vehicle.
 *
 * It has a VIN, or model year, make and model, or both; a model year that was not sent is read from the VIN where the
 * VIN tells it. A deductible is in whole US dollars; null means that the cover is not wanted.
 */
export interface VehicleFacts
  extends With<
    AutoVehicle,
    | "ownership"
    | "primary_use"
    | "annual_miles"
    | "salvage_title"
    | "comprehensive_deductible_usd"
    | "collision_deductible_usd"
  > {}

/**
 * The covers of a car policy.
 *
 * A limit that is absent is the one of the level: the state's minimum, 50/100/50, or 100/300/100 thousand dollars.
 */
export interface AutoCoverageFacts extends With<AutoCoverage, "level" | "uninsured_motorist"> {}

/** The insurance before this one. `months_continuous` is always there where `status` is `insured`. */
export interface PriorInsuranceFacts extends PriorInsurance {}

/** The complete facts of a car insurance application. */
export interface PersonalAutoFacts
  extends Omit<
    With<PersonalAutoApplication, "billing_preference" | "effective_date">,
    "drivers" | "vehicles" | "coverage" | "prior_insurance"
  > {
  readonly drivers: ReadonlyArray<DriverFacts>
  readonly vehicles: ReadonlyArray<VehicleFacts>
  readonly coverage: AutoCoverageFacts
  readonly prior_insurance: PriorInsuranceFacts
}

/** A rented home. */
export interface DwellingFacts extends With<RentersApplication["dwelling"], "short_term_rental" | "student_housing"> {}

/** The covers of a renters policy, in whole US dollars. */
export interface RentersCoverageFacts
  extends With<
    RentersCoverage,
    "personal_property_usd" | "liability_usd" | "medical_payments_usd" | "deductible_usd" | "replacement_cost"
  > {}

/** Who lives in a rented home. */
export interface HouseholdFacts extends With<Household, "claims_last_5_years" | "dog_with_bite_history"> {}

/** The complete facts of a renters insurance application. */
export interface RentersFacts
  extends Omit<
    With<RentersApplication, "billing_preference" | "effective_date">,
    "dwelling" | "coverage" | "household"
  > {
  readonly dwelling: DwellingFacts
  readonly coverage: RentersCoverageFacts
  readonly household: HouseholdFacts
}

/** A dog or cat: it has a `birth_month` (`YYYY-MM`) or `age_years`; where it has both, the month is the finer one. */
export interface PetSubjectFacts extends With<PetApplication["pets"][number], "prior_conditions"> {}

/** The covers of a pet policy, in whole US dollars and percent. */
export interface PetCoverageFacts
  extends With<PetCoverage, "plan" | "wellness" | "deductible_usd" | "reimbursement_percent" | "annual_limit_usd"> {}

/** The complete facts of a pet insurance application. */
export interface PetFacts
  extends Omit<With<PetApplication, "billing_preference" | "effective_date">, "pets" | "coverage"> {
  readonly pets: ReadonlyArray<PetSubjectFacts>
  readonly coverage: PetCoverageFacts
}

export type { StateCode }
