import { codesOf } from "../codes.ts"
import { defineLine } from "../defineLine.ts"
import { smallest } from "../ExampleApplications.ts"
import { assume, type PetFacts, stateOf, subjectsOf } from "./complete.ts"
import { Pet } from "./facts.ts"
import { rules } from "./rules.ts"

/** The line for pet insurance. */
export const pet = defineLine<"pet", Pet, PetFacts>({
  name: "pet",
  insures: "dogs and cats",
  facts_version: "2026-09-26",
  facts: Pet,
  example: smallest.pet,
  rules,
  assume,
  stateOf,
  subjectsOf,
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
