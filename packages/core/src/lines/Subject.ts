import type { Application } from "./Application.ts"
import type { PersonalAutoApplication, PetApplication, RentersApplication } from "./facts.types.ts"

/** What is insured: a vehicle, a rented home or a pet. */
export interface Subject {
  /** `vehicle-1` is `application.vehicles.0`, `pet-2` is `application.pets.1`, `dwelling-1` is `application.dwelling`. */
  readonly subject_id: string
  readonly kind: SubjectKind
  /** What a person calls it, without a street or a VIN; null where the facts do not say. */
  readonly label: string | null
}

/** The kinds of subject. */
export type SubjectKind = "vehicle" | "dwelling" | "pet"

/** The subjects of an application, in the order of its facts. */
export const subjectsOf = (application: Application): ReadonlyArray<Subject> => {
  switch (application.line) {
    case "personal_auto":
      return application.facts.vehicles.map((vehicle, i) => subject("vehicle", i, vehicleLabel(vehicle)))
    case "renters":
      return [subject("dwelling", 0, dwellingLabel(application.facts.dwelling))]
    case "pet":
      return application.facts.pets.map((pet, i) => subject("pet", i, petLabel(pet)))
  }
}

const subject = (kind: SubjectKind, index: number, label: string | null): Subject => ({
  subject_id: `${kind}-${index + 1}`,
  kind,
  label
})

const vehicleLabel = (vehicle: PersonalAutoApplication["vehicles"][number]): string | null => {
  const words = [vehicle.model_year, vehicle.make, vehicle.model].filter((word) => word !== undefined)
  return words.length === 0 ? null : words.join(" ")
}

const homes: { readonly [T in RentersApplication["dwelling"]["type"]]: string } = {
  apartment: "apartment",
  condo: "condo",
  townhouse: "townhouse",
  duplex: "duplex",
  single_family: "house",
  mobile_home: "mobile home",
  other: "home"
}

const dwellingLabel = ({ address, type }: RentersApplication["dwelling"]): string =>
  `Rented ${homes[type]} in ${address.city === undefined ? "" : `${address.city}, `}${address.state}`

const petLabel = (pet: PetApplication["pets"][number]): string => {
  if (pet.name !== undefined) return pet.name
  const species = pet.species === "dog" ? "Dog" : "Cat"
  const breed = pet.breed.replaceAll("_", " ")
  if (pet.age_years === undefined) return `${species}, ${breed}, born ${pet.birth_month}`
  return `${species}, ${breed}, ${pet.age_years} ${pet.age_years === 1 ? "year" : "years"}`
}
