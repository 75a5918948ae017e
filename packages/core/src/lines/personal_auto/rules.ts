import { ageInYears, monthOf } from "../../wire/CalendarDay.ts"
import type { Draft, Problems, Rules } from "../Application.ts"
import { checkAddress, checkCommon } from "../SharedFacts.ts"
import * as State from "../State.ts"
import { limits, otherRelationships, type PersonalAuto } from "./facts.ts"
import { hasRightCheckDigit } from "./Vin.ts"

type DraftAuto = Draft<PersonalAuto>
type DraftDriver = Draft<PersonalAuto["drivers"][number]>

const minDriverAge = 14
const maxDriverAge = 110
// No state issues a license to anybody younger than this.
const minLicenseAge = 13

const checkDriver = (driver: DraftDriver, index: number, today: string, problems: Problems): void => {
  const path = `application.drivers.${index}`
  const { relationship, date_of_birth: born, license_status, years_licensed, incidents = [] } = driver
  if (relationship !== undefined && (relationship === "self") !== (index === 0)) {
    if (index === 0) problems.refuse(`${path}.relationship`, "The first driver must be the applicant.", ["self"])
    else problems.refuse(`${path}.relationship`, "Only the first driver can be the applicant.", otherRelationships)
  }
  const age = born === undefined ? null : ageInYears(born, today)
  if (born !== undefined && born > today) {
    problems.refuse(`${path}.date_of_birth`, "Must not be in the future.")
  } else if (age !== null && (age < minDriverAge || age > maxDriverAge)) {
    const message = `A driver must be ${minDriverAge} to ${maxDriverAge} years old.`
    problems.refuse(`${path}.date_of_birth`, message)
  } else if (age !== null && years_licensed !== undefined && years_licensed > age - minLicenseAge) {
    problems.refuse(`${path}.years_licensed`, "Must be at most the driver's age minus 13 years.")
  }
  if (license_status === "never_licensed" && years_licensed !== undefined && years_licensed > 0) {
    problems.refuse(`${path}.years_licensed`, "Must be 0 for a driver who was never licensed.", ["0"])
  }
  for (const [i, incident] of incidents.entries()) {
    if (incident.month !== undefined && incident.month > monthOf(today)) {
      problems.refuse(`${path}.incidents.${i}.month`, "Must not be in the future.")
    }
  }
}

const checkLimits = ({ coverage, garaging_address }: DraftAuto, problems: Problems): void => {
  if (coverage === undefined) return
  const minimum = garaging_address?.state === undefined ? null : State.get(garaging_address.state).liability_minimum
  const perPerson = coverage.bodily_injury_per_person_usd ?? 0
  const requireAtLeast = (name: keyof typeof limits, floor: number, message: string): void => {
    const limit = coverage[name]
    if (limit === undefined || limit >= floor) return
    const enough = limits[name].filter((usd) => usd >= floor).map(String)
    problems.refuse(`application.coverage.${name}`, message, enough)
  }
  const tooLow = "Must be at least the state's minimum."
  requireAtLeast("bodily_injury_per_person_usd", minimum?.bodily_injury_per_person_usd ?? 0, tooLow)
  requireAtLeast("property_damage_usd", minimum?.property_damage_usd ?? 0, tooLow)
  // One message covers both minimums, so that every value in `allowed_values` is accepted when it is sent.
  const perAccidentMinimum = Math.max(minimum?.bodily_injury_per_accident_usd ?? 0, perPerson)
  const tooLowPerAccident = "Must be at least the state's minimum and the limit for each person."
  requireAtLeast("bodily_injury_per_accident_usd", perAccidentMinimum, tooLowPerAccident)
}

/** The rules for car insurance that its JSON Schema cannot express. */
export const rules: Rules<PersonalAuto> = (draft, today, problems) => {
  checkCommon(draft, today, problems)
  checkAddress(draft.garaging_address, "application.garaging_address", problems)
  for (const [i, driver] of (draft.drivers ?? []).entries()) checkDriver(driver, i, today, problems)
  for (const [i, vehicle] of (draft.vehicles ?? []).entries()) {
    if (vehicle.vin !== undefined && !hasRightCheckDigit(vehicle.vin)) {
      problems.refuse(`application.vehicles.${i}.vin`, "Must have a valid check digit, the ninth character.")
    }
  }
  checkLimits(draft, problems)
}
