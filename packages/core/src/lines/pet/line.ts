import { type Subject, subject } from "../Application.ts"
import { codesOf } from "../codes.ts"
import { defineLine } from "../defineLine.ts"
import { assume, type PetFacts } from "./assume.ts"
import { example } from "./example.ts"
import { Pet } from "./facts.ts"
import { rules } from "./rules.ts"

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

/** The line for pet insurance. */
export const pet = defineLine<"pet", Pet, PetFacts>({
  name: "pet",
  insures: "dogs and cats",
  facts_version: "2026-09-26",
  facts: Pet,
  example,
  rules,
  assume,
  stateOf: (facts) => facts.residence.state,
  subjectsOf,
  stateLaw: () => ({}),
  disclosures: ["pet_preexisting", "pet_waiting_period", "pet_wellness_not_insurance", "pet_free_look"],
  has_credit_disclosure: false,
  premium_includes_fees: false,
  has_quote_events: false,
  ...codesOf({
    covers: {
      accident: "Treatment after an accident, up to the annual limit",
      illness: "Treatment of an illness, up to the annual limit",
      wellness: "Routine care, such as vaccinations",
      exam_fees: "The vet's fee for the examination",
      prescription: "Prescribed medication",
      dental_illness: "Treatment of diseases of teeth and gums",
      behavioral: "Treatment of behavioral problems",
      rehabilitation: "Rehabilitation, such as physical therapy",
      hereditary_conditions: "Treatment of hereditary and congenital conditions"
    },
    subjects: { pet: "A dog or a cat" },
    fees: ["policy_fee", "installment_fee", "enrollment_fee", "broker_fee", "electronic_payment_fee"]
  })
})
