import { ageInYears } from "../../wire/CalendarDay.ts"
import { type Assumptions, type Subject, subject, type WithRequired } from "../Application.ts"
import { completePolicy } from "../SharedFacts.ts"
import * as State from "../State.ts"
import type { PersonalAuto } from "./facts.ts"
import { modelYear } from "./Vin.ts"

type AutoDriver = PersonalAuto["drivers"][number]
type AutoVehicle = PersonalAuto["vehicles"][number]
type AutoCoverage = NonNullable<PersonalAuto["coverage"]>
type PriorInsurance = NonNullable<PersonalAuto["prior_insurance"]>

/** A driver, with the assumed facts. `date_of_birth` is `YYYY-MM-DD`. */
export interface DriverFacts
  extends WithRequired<AutoDriver, "license_state" | "years_licensed" | "sr22_required" | "incidents"> {}

/**
 * A vehicle, with the assumed facts.
 *
 * It has a VIN, or model year, make and model, or both. A model year that was not sent is read from the VIN if
 * possible. A deductible is in whole US dollars; null means that the coverage is not wanted.
 */
export interface VehicleFacts
  extends WithRequired<
    AutoVehicle,
    | "ownership"
    | "primary_use"
    | "annual_miles"
    | "salvage_title"
    | "comprehensive_deductible_usd"
    | "collision_deductible_usd"
  > {}

/**
 * The coverages of a car policy.
 *
 * A limit that was not sent has the level's value: the state's minimum, 50/100/50 or 100/300/100 thousand dollars.
 */
export interface AutoCoverageFacts extends WithRequired<AutoCoverage, "level" | "uninsured_motorist"> {}

/** The previous insurance. If `status` is `insured`, `months_continuous` is present. */
export interface PriorInsuranceFacts extends PriorInsurance {}

/** The complete facts of a car insurance application. */
export interface PersonalAutoFacts
  extends Omit<
    WithRequired<PersonalAuto, "billing_preference" | "effective_date">,
    "drivers" | "vehicles" | "coverage" | "prior_insurance"
  > {
  readonly drivers: ReadonlyArray<DriverFacts>
  readonly vehicles: ReadonlyArray<VehicleFacts>
  readonly coverage: AutoCoverageFacts
  readonly prior_insurance: PriorInsuranceFacts
}

/**
 * Adds the assumed facts for car insurance. `today` is the date in the workspace, `YYYY-MM-DD`.
 *
 * Without facts about prior insurance, twelve continuous months are assumed. If the caller sent a level other than
 * `standard`, the level determines the coverages, and they are not recorded as assumptions.
 */
export const assume = (facts: PersonalAuto, today: string, assumptions: Assumptions): PersonalAutoFacts => {
  const state = facts.garaging_address.state
  return {
    ...facts,
    ...completePolicy(facts, today, assumptions),
    drivers: facts.drivers.map((driver, i) => driverFacts(driver, `drivers.${i}`, { state, today }, assumptions)),
    vehicles: facts.vehicles.map((vehicle, i) => vehicleFacts(vehicle, `vehicles.${i}`, facts.coverage, assumptions)),
    coverage: autoCoverage(facts.coverage, state, assumptions),
    prior_insurance: priorInsurance(facts.prior_insurance, assumptions)
  }
}

const usualLicenseAge = 16

const driverFacts = (
  driver: PersonalAuto["drivers"][number],
  path: string,
  { state, today }: { readonly state: State.StateCode; readonly today: string },
  assumptions: Assumptions
): DriverFacts => {
  // A driver without a license has no usual licensing age.
  const isUnlicensed = driver.license_status === "never_licensed" || driver.license_status === "permit"
  const years = isUnlicensed ? 0 : Math.max(0, ageInYears(driver.date_of_birth, today) - usualLicenseAge)
  const since = isUnlicensed
    ? "Not licensed yet"
    : years === 0
      ? "Licensed for less than a year"
      : "Licensed since age 16"
  const { incidents } = driver
  if (incidents === undefined) {
    assumptions.record(`${path}.incidents`, "none", "No accidents or tickets in the last 3 years")
  }
  return {
    ...driver,
    license_state: assumptions.fill(
      driver.license_state,
      `${path}.license_state`,
      state,
      `License from ${state}, where the car is kept`,
      "derived"
    ),
    years_licensed: assumptions.fill(driver.years_licensed, `${path}.years_licensed`, years, since, "derived"),
    sr22_required: assumptions.fill(driver.sr22_required, `${path}.sr22_required`, false, "No SR-22 filing required"),
    incidents: incidents ?? []
  }
}

const assumedDeductibleUsd = 500

const vehicleFacts = (
  vehicle: PersonalAuto["vehicles"][number],
  path: string,
  coverage: PersonalAuto["coverage"],
  assumptions: Assumptions
): VehicleFacts => {
  const deductible = (name: "comprehensive" | "collision", label: string) => {
    const sent = vehicle[`${name}_deductible_usd`]
    if (sent !== undefined) return sent
    if (coverage?.level === "state_minimum") return null
    if (coverage?.level === "enhanced") return assumedDeductibleUsd
    return assumptions.fill(sent, `${path}.${name}_deductible_usd`, assumedDeductibleUsd, label)
  }
  const decoded = vehicle.model_year === undefined && vehicle.vin !== undefined ? modelYear(vehicle.vin) : null
  if (decoded !== null)
    assumptions.record(`${path}.model_year`, decoded, `Model year ${decoded}, from the VIN`, "derived")
  return {
    ...vehicle,
    ...(decoded === null ? {} : { model_year: decoded }),
    ownership: assumptions.fill(vehicle.ownership, `${path}.ownership`, "owned", "Owned, without a loan or lease"),
    primary_use: assumptions.fill(vehicle.primary_use, `${path}.primary_use`, "commute", "Driven to work"),
    annual_miles: assumptions.fill(vehicle.annual_miles, `${path}.annual_miles`, 12_000, "12,000 miles a year"),
    salvage_title: assumptions.fill(vehicle.salvage_title, `${path}.salvage_title`, false, "No salvage title"),
    comprehensive_deductible_usd: deductible("comprehensive", "Comprehensive coverage with a $500 deductible"),
    collision_deductible_usd: deductible("collision", "Collision coverage with a $500 deductible")
  }
}

const autoCoverage = (
  coverage: PersonalAuto["coverage"],
  state: State.StateCode,
  assumptions: Assumptions
): AutoCoverageFacts => {
  const level = assumptions.fill(
    coverage?.level,
    "coverage.level",
    "standard",
    "Standard coverage: $50,000 for each person, $100,000 for each accident, $50,000 for property"
  )
  const needsUninsured = (): boolean => {
    const coverageSent = coverage?.uninsured_motorist
    if (coverageSent !== undefined) return coverageSent
    if (level === "state_minimum") return State.get(state).uninsured_motorist_required
    if (level === "enhanced") return true
    return assumptions.fill(coverageSent, "coverage.uninsured_motorist", true, "With uninsured motorist coverage")
  }
  return { ...coverage, level, uninsured_motorist: needsUninsured() }
}

const continuousMonths = 12

const priorInsurance = (prior: PersonalAuto["prior_insurance"], assumptions: Assumptions): PriorInsuranceFacts => {
  if (prior === undefined) {
    assumptions.record("prior_insurance.status", "insured", "Insured for the last 12 months without a break")
    return { status: "insured", months_continuous: continuousMonths }
  }
  if (prior.status !== "insured" || prior.months_continuous !== undefined) return prior
  assumptions.record("prior_insurance.months_continuous", continuousMonths, "Insured for 12 months without a break")
  return { ...prior, months_continuous: continuousMonths }
}

/** The state in which carriers are asked: the state of the garaging address. */
export const stateOf = (facts: PersonalAuto): State.StateCode => facts.garaging_address.state

const vehicleLabel = ({ model_year, make, model }: PersonalAuto["vehicles"][number]): string | null => {
  const words = [model_year, make, model].filter((word) => word !== undefined)
  return words.length === 0 ? null : words.join(" ")
}

/** The insured subjects of a car policy: its vehicles. */
export const subjectsOf = (facts: PersonalAuto): ReadonlyArray<Subject> =>
  facts.vehicles.map((vehicle, i) => subject("vehicle", i, vehicleLabel(vehicle)))
