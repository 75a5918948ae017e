import { monthOf } from "../../wire/CalendarDay.ts"
import type { Draft, Problems, Rules } from "../Application.ts"
import { checkAddress, checkCommon } from "../SharedFacts.ts"
import * as Breed from "./Breed.ts"
import { type Pet, sizeLabel, sizes } from "./facts.ts"

const checkPet = (pet: Draft<Pet["pets"][number]>, index: number, today: string, problems: Problems): void => {
  const path = `application.pets.${index}`
  if (pet.birth_month !== undefined && pet.birth_month > monthOf(today)) {
    problems.refuse(`${path}.birth_month`, "Must not be in the future.")
  }
  if (pet.species === undefined || pet.breed === undefined) return
  if (Breed.groupOf(pet.species, pet.breed, pet.size) === null) {
    const message = "Must be a breed name that the service knows, mixed or unknown."
    problems.refuse(`${path}.breed`, message, Breed.nearMatches(pet.species, pet.breed))
  }
  // The schema requires the size only for the exact words "mixed" and "unknown", but other texts can mean a mixed or
  // unknown breed too.
  if (pet.size === undefined && Breed.needsSize(pet.species, pet.breed)) {
    problems.require(`${path}.size`, `Required: ${sizeLabel}.`, sizes)
  }
}

/** The rules for pet insurance that its JSON Schema cannot express. */
export const rules: Rules<Pet> = (draft, today, problems) => {
  checkCommon(draft, today, problems)
  checkAddress(draft.residence, "application.residence", problems)
  for (const [i, pet] of (draft.pets ?? []).entries()) checkPet(pet, i, today, problems)
}
