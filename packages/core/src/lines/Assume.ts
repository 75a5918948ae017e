import { addDays, ageInYears } from "../wire/CalendarDate.ts"
import type { Application } from "./Application.ts"
import type { Assumption, Scalar } from "./Assumption.ts"
import type {
  AutoCoverageFacts,
  DriverFacts,
  PersonalAutoFacts,
  PetFacts,
  PriorInsuranceFacts,
  RentersFacts,
  VehicleFacts
} from "./Facts.ts"
import type { PersonalAutoApplication, PetApplication, RentersApplication } from "./facts.types.ts"
import * as State from "./State.ts"
import { modelYear } from "./Vin.ts"

/** An application with every fact filled in that may be assumed, and the facts that were, sorted by path. */
export type Assumed = (
  | { readonly line: "personal_auto"; readonly facts: PersonalAutoFacts }
  | { readonly line: "renters"; readonly facts: RentersFacts }
  | { readonly line: "pet"; readonly facts: PetFacts }
) & { readonly assumptions: ReadonlyArray<Assumption> }

/**
 * Fills in every fact that the schema lets the service assume (`x-assume`) and that was not sent.
 *
 * `today` is the workspace's day, `YYYY-MM-DD`. Absent prior insurance counts as twelve months without a break. Where a
 * level other than `standard` was sent, the covers that it decides are set as it decides and are no assumptions.
 */
export const assume = (application: Application, today: string): Assumed => {
  const made = new Assumptions()
  switch (application.line) {
    case "personal_auto": {
      const facts = personalAutoFacts(application.facts, today, made)
      return { line: "personal_auto", facts, assumptions: made.sorted() }
    }
    case "renters": {
      const facts = rentersFacts(application.facts, today, made)
      return { line: "renters", facts, assumptions: made.sorted() }
    }
    case "pet": {
      const facts = petFacts(application.facts, today, made)
      return { line: "pet", facts, assumptions: made.sorted() }
    }
  }
}

/** Collects what is assumed while facts are filled in. */
class Assumptions {
  readonly #made: Array<Assumption> = []

  /** The fact as sent, or else the assumed one, which is noted. */
  fill<A extends Scalar>(sent: A | undefined, path: string, value: A, label: string, source = "service_default"): A {
    if (sent !== undefined) return sent
    this.note(path, value, label, source)
    return value
  }

  note(path: string, value: Scalar, label: string, source = "service_default"): void {
    this.#made.push({ path: `application.${path}`, value, source, label })
  }

  sorted(): ReadonlyArray<Assumption> {
    return this.#made.sort((a, b) => (a.path < b.path ? -1 : 1))
  }
}

const commonFacts = (
  facts: Pick<RentersApplication, "billing_preference" | "effective_date">,
  today: string,
  made: Assumptions
) => {
  const tomorrow = addDays(today, 1)
  return {
    billing_preference: made.fill(facts.billing_preference, "billing_preference", "monthly", "Paid monthly"),
    effective_date: made.fill(facts.effective_date, "effective_date", tomorrow, `Starts on ${tomorrow}`)
  }
}

const personalAutoFacts = (facts: PersonalAutoApplication, today: string, made: Assumptions): PersonalAutoFacts => {
  const state = facts.garaging_address.state
  return {
    ...facts,
    ...commonFacts(facts, today, made),
    drivers: facts.drivers.map((driver, i) => driverFacts(driver, `drivers.${i}`, state, today, made)),
    vehicles: facts.vehicles.map((vehicle, i) => vehicleFacts(vehicle, `vehicles.${i}`, facts.coverage, made)),
    coverage: autoCoverage(facts.coverage, state, made),
    prior_insurance: priorInsurance(facts.prior_insurance, made)
  }
}

const usual_license_age = 16

const driverFacts = (
  driver: PersonalAutoApplication["drivers"][number],
  path: string,
  state: State.StateCode,
  today: string,
  made: Assumptions
): DriverFacts => {
  // The usual age says nothing of who has no license yet.
  const unlicensed = driver.license_status === "never_licensed" || driver.license_status === "permit"
  const years = unlicensed ? 0 : Math.max(0, ageInYears(driver.date_of_birth, today) - usual_license_age)
  const since = unlicensed
    ? "Not licensed yet"
    : years === 0
      ? "Licensed for less than a year"
      : "Licensed since age 16"
  const { incidents } = driver
  if (incidents === undefined) {
    made.note(`${path}.incidents`, "none", "No accidents or tickets in the last 3 years")
  }
  return {
    ...driver,
    license_state: made.fill(
      driver.license_state,
      `${path}.license_state`,
      state,
      `License from ${state}, where the car is kept`,
      "derived"
    ),
    years_licensed: made.fill(driver.years_licensed, `${path}.years_licensed`, years, since, "derived"),
    sr22_required: made.fill(driver.sr22_required, `${path}.sr22_required`, false, "No SR-22 filing required"),
    incidents: incidents ?? []
  }
}

const assumed_deductible_usd = 500

const vehicleFacts = (
  vehicle: PersonalAutoApplication["vehicles"][number],
  path: string,
  coverage: PersonalAutoApplication["coverage"],
  made: Assumptions
): VehicleFacts => {
  const deductible = (name: "comprehensive" | "collision", label: string) => {
    const sent = vehicle[`${name}_deductible_usd`]
    if (sent !== undefined) return sent
    if (coverage?.level === "state_minimum") return null
    if (coverage?.level === "enhanced") return assumed_deductible_usd
    return made.fill(sent, `${path}.${name}_deductible_usd`, assumed_deductible_usd, label)
  }
  const decoded = vehicle.model_year === undefined && vehicle.vin !== undefined ? modelYear(vehicle.vin) : null
  if (decoded !== null) made.note(`${path}.model_year`, decoded, `Model year ${decoded}, from the VIN`, "derived")
  return {
    ...vehicle,
    ...(decoded === null ? {} : { model_year: decoded }),
    ownership: made.fill(vehicle.ownership, `${path}.ownership`, "owned", "Owned, without a loan or lease"),
    primary_use: made.fill(vehicle.primary_use, `${path}.primary_use`, "commute", "Driven to work"),
    annual_miles: made.fill(vehicle.annual_miles, `${path}.annual_miles`, 12_000, "12,000 miles a year"),
    salvage_title: made.fill(vehicle.salvage_title, `${path}.salvage_title`, false, "No salvage title"),
    comprehensive_deductible_usd: deductible("comprehensive", "Comprehensive cover with a $500 deductible"),
    collision_deductible_usd: deductible("collision", "Collision cover with a $500 deductible")
  }
}

const autoCoverage = (
  coverage: PersonalAutoApplication["coverage"],
  state: State.StateCode,
  made: Assumptions
): AutoCoverageFacts => {
  const level = made.fill(
    coverage?.level,
    "coverage.level",
    "standard",
    "Standard cover: $50,000 for each person, $100,000 for each accident, $50,000 for property"
  )
  const uninsured = (): boolean => {
    const sent = coverage?.uninsured_motorist
    if (sent !== undefined) return sent
    if (level === "state_minimum") return State.get(state).uninsured_motorist_required
    if (level === "enhanced") return true
    return made.fill(sent, "coverage.uninsured_motorist", true, "With uninsured motorist cover")
  }
  return { ...coverage, level, uninsured_motorist: uninsured() }
}

const continuous_months = 12

const priorInsurance = (prior: PersonalAutoApplication["prior_insurance"], made: Assumptions): PriorInsuranceFacts => {
  if (prior === undefined) {
    made.note("prior_insurance.status", "insured", "Insured for the last 12 months without a break")
    return { status: "insured", months_continuous: continuous_months }
  }
  if (prior.status !== "insured" || prior.months_continuous !== undefined) return prior
  made.note("prior_insurance.months_continuous", continuous_months, "Insured for 12 months without a break")
  return { ...prior, months_continuous: continuous_months }
}

const rentersFacts = (facts: RentersApplication, today: string, made: Assumptions): RentersFacts => {
  const { dwelling, coverage, household } = facts
  const cover = <A extends Scalar>(sent: A | undefined, name: string, value: A, label: string): A =>
    made.fill(sent, `coverage.${name}`, value, label)
  return {
    ...facts,
    ...commonFacts(facts, today, made),
    dwelling: {
      ...dwelling,
      short_term_rental: made.fill(
        dwelling.short_term_rental,
        "dwelling.short_term_rental",
        false,
        "Not let to guests"
      ),
      student_housing: made.fill(dwelling.student_housing, "dwelling.student_housing", false, "Not student housing")
    },
    coverage: {
      ...coverage,
      personal_property_usd: cover(
        coverage?.personal_property_usd,
        "personal_property_usd",
        30_000,
        "$30,000 of belongings"
      ),
      liability_usd: cover(coverage?.liability_usd, "liability_usd", 100_000, "$100,000 of liability cover"),
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
      claims_last_5_years: made.fill(
        household?.claims_last_5_years,
        "household.claims_last_5_years",
        0,
        "No claims in the last 5 years"
      ),
      dog_with_bite_history: made.fill(
        household?.dog_with_bite_history,
        "household.dog_with_bite_history",
        false,
        "No dog that has bitten someone"
      )
    }
  }
}

const petFacts = (facts: PetApplication, today: string, made: Assumptions): PetFacts => {
  const { coverage } = facts
  const cover = <A extends Scalar>(sent: A | undefined, name: string, value: A, label: string): A =>
    made.fill(sent, `coverage.${name}`, value, label)
  return {
    ...facts,
    ...commonFacts(facts, today, made),
    pets: facts.pets.map((pet, i) => ({
      ...pet,
      prior_conditions: made.fill(
        pet.prior_conditions,
        `pets.${i}.prior_conditions`,
        "unknown",
        "Not known whether there were health conditions before"
      )
    })),
    coverage: {
      ...coverage,
      plan: cover(coverage?.plan, "plan", "accident_illness", "Accidents and illness"),
      wellness: cover(coverage?.wellness, "wellness", false, "Without wellness cover"),
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
