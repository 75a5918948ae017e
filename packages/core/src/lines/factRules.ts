import type { FieldError } from "../wire/ApiError.ts"
import { addDays, ageInYears, monthOf } from "../wire/CalendarDate.ts"
import * as Breed from "./Breed.ts"
import personalAuto from "./data/personal_auto.json" with { type: "json" }
import type { PersonalAutoApplication, PetApplication, RentersApplication } from "./facts.types.ts"
import type { Draft, Problems } from "./JsonSchemaCheck.ts"
import * as State from "./State.ts"
import { hasRightCheckDigit } from "./Vin.ts"

/*
 * What a JSON Schema cannot say of facts: whether they fit each other, the calendar and the state's law. The rules read
 * drafts, so that one answer names these problems besides the absent and malformed facts.
 */

/** A rule adds what is wrong with a draft; `today` is the workspace's day, `YYYY-MM-DD`. */
export type Rules<A> = (draft: Draft<A>, today: string, problems: Problems) => void

type DraftAuto = Draft<PersonalAutoApplication>
type DraftDriver = Draft<PersonalAutoApplication["drivers"][number]>
type DraftPet = Draft<PetApplication["pets"][number]>

/** How far ahead a policy can start, in days. */
const max_days_ahead = 60

const least_driver_age = 14
const greatest_driver_age = 110
// Nobody is licensed before this age, whatever the state.
const least_license_age = 13

const refuse = (problems: Problems, path: string, message: string, allowed_values?: ReadonlyArray<string>): void => {
  problems.invalid.push(allowed_values === undefined ? { path, message } : { path, message, allowed_values })
}

const checkAddress = (
  address: { readonly state?: State.StateCode; readonly zip?: string } | undefined,
  path: string,
  problems: Problems
): void => {
  if (address?.zip === undefined) return
  const state = State.stateOfZip(address.zip)
  if (state === null) {
    refuse(problems, `${path}.zip`, "Must be a ZIP code in one of the states in allowed_values.", State.servedStates)
  } else if (address.state !== undefined && address.state !== state) {
    refuse(problems, `${path}.zip`, "Must be a ZIP code in the state that was sent.")
  }
}

const checkCommon = (
  draft: { readonly applicant?: { readonly date_of_birth?: string }; readonly effective_date?: string },
  today: string,
  problems: Problems
): void => {
  const born = draft.applicant?.date_of_birth
  if (born !== undefined && born > today) {
    refuse(problems, "application.applicant.date_of_birth", "Must not be in the future.")
  }
  const start = draft.effective_date
  if (start !== undefined && (start < today || start > addDays(today, max_days_ahead))) {
    refuse(problems, "application.effective_date", `Must be today or at most ${max_days_ahead} days ahead.`)
  }
}

const other_relationships = personalAuto.properties.drivers.items.properties.relationship.enum.filter(
  (relationship) => relationship !== "self"
)

const checkDriver = (driver: DraftDriver, index: number, today: string, problems: Problems): void => {
  const path = `application.drivers.${index}`
  const { relationship, date_of_birth: born, license_status, years_licensed, incidents = [] } = driver
  if (relationship !== undefined && (relationship === "self") !== (index === 0)) {
    if (index === 0) refuse(problems, `${path}.relationship`, "The first driver must be the applicant.", ["self"])
    else refuse(problems, `${path}.relationship`, "Only the first driver is the applicant.", other_relationships)
  }
  const age = born === undefined ? null : ageInYears(born, today)
  if (born !== undefined && born > today) {
    refuse(problems, `${path}.date_of_birth`, "Must not be in the future.")
  } else if (age !== null && (age < least_driver_age || age > greatest_driver_age)) {
    const message = `A driver must be ${least_driver_age} to ${greatest_driver_age} years old.`
    refuse(problems, `${path}.date_of_birth`, message)
  } else if (age !== null && years_licensed !== undefined && years_licensed > age - least_license_age) {
    refuse(problems, `${path}.years_licensed`, "Must be at most the driver's age less 13 years.")
  }
  if (license_status === "never_licensed" && years_licensed !== undefined && years_licensed > 0) {
    refuse(problems, `${path}.years_licensed`, "Must be 0 for a driver who was never licensed.", ["0"])
  }
  for (const [i, incident] of incidents.entries()) {
    if (incident.month !== undefined && incident.month > monthOf(today)) {
      refuse(problems, `${path}.incidents.${i}.month`, "Must not be in the future.")
    }
  }
}

const menus = {
  bodily_injury_per_person_usd: personalAuto.properties.coverage.properties.bodily_injury_per_person_usd.enum,
  bodily_injury_per_accident_usd: personalAuto.properties.coverage.properties.bodily_injury_per_accident_usd.enum,
  property_damage_usd: personalAuto.properties.coverage.properties.property_damage_usd.enum
}

const checkLimits = ({ coverage, garaging_address }: DraftAuto, problems: Problems): void => {
  if (coverage === undefined) return
  const minimum = garaging_address?.state === undefined ? null : State.get(garaging_address.state).liability_minimum
  const per_person = coverage.bodily_injury_per_person_usd ?? 0
  const check = (name: keyof typeof menus, floor: number, message: string): boolean => {
    const limit = coverage[name]
    if (limit === undefined || limit >= floor) return true
    const enough = menus[name].filter((usd) => usd >= floor).map(String)
    refuse(problems, `application.coverage.${name}`, message, enough)
    return false
  }
  const too_low = "Must be at least the state's minimum."
  check("bodily_injury_per_person_usd", minimum?.bodily_injury_per_person_usd ?? 0, too_low)
  check("property_damage_usd", minimum?.property_damage_usd ?? 0, too_low)
  // One answer for both floors: what allowed_values offers must pass when it is sent.
  const floor = Math.max(minimum?.bodily_injury_per_accident_usd ?? 0, per_person)
  const least = "Must be at least the state's minimum and the limit for each person."
  check("bodily_injury_per_accident_usd", floor, least)
}

/** The rules of car insurance. */
export const personalAutoRules: Rules<PersonalAutoApplication> = (draft, today, problems) => {
  checkCommon(draft, today, problems)
  checkAddress(draft.garaging_address, "application.garaging_address", problems)
  for (const [i, driver] of (draft.drivers ?? []).entries()) checkDriver(driver, i, today, problems)
  for (const [i, vehicle] of (draft.vehicles ?? []).entries()) {
    if (vehicle.vin !== undefined && !hasRightCheckDigit(vehicle.vin)) {
      refuse(problems, `application.vehicles.${i}.vin`, "Must have a ninth character that fits the others.")
    }
  }
  checkLimits(draft, problems)
}

/** The rules of renters insurance. */
export const rentersRules: Rules<RentersApplication> = (draft, today, problems) => {
  checkCommon(draft, today, problems)
  checkAddress(draft.dwelling?.address, "application.dwelling.address", problems)
}

const checkPet = (pet: DraftPet, index: number, today: string, problems: Problems): void => {
  const path = `application.pets.${index}`
  if (pet.birth_month !== undefined && pet.birth_month > monthOf(today)) {
    refuse(problems, `${path}.birth_month`, "Must not be in the future.")
  }
  if (pet.species === undefined || pet.breed === undefined) return
  if (Breed.groupOf(pet.species, pet.breed, pet.size) === null) {
    const message = "Must be the name of a breed that is known, mixed or unknown."
    refuse(problems, `${path}.breed`, message, Breed.nearMatches(pet.species, pet.breed))
  }
  // The schema asks for the size after the very words "mixed" and "unknown"; other words can mean the same.
  const known = problems.missing.some((error) => error.path === `${path}.size`)
  if (pet.size === undefined && !known && Breed.needsSize(pet.species, pet.breed)) {
    problems.missing.push(sizeMissing(`${path}.size`))
  }
}

const sizeMissing = (path: string): FieldError => ({
  path,
  message: "Required: Size of a dog of mixed or unknown breed.",
  allowed_values: ["small", "medium", "large", "giant"]
})

/** The rules of pet insurance. */
export const petRules: Rules<PetApplication> = (draft, today, problems) => {
  checkCommon(draft, today, problems)
  checkAddress(draft.residence, "application.residence", problems)
  for (const [i, pet] of (draft.pets ?? []).entries()) checkPet(pet, i, today, problems)
}
