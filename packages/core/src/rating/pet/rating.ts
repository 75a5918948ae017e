import type { PetFacts } from "../../lines/pet/assume.ts"
import { pet as line, subjectsOf } from "../../lines/pet/line.ts"
import * as Rating from "../Rating.ts"
import { plan } from "./plan.ts"
import { ratePet } from "./rate.ts"
import { accidentOnlyFrom, declinePet } from "./underwriting.ts"

/** How the fictional carriers rate pet insurance. */
export const pet = Rating.make<PetFacts>({
  line: line.name,
  carriers: plan.carriers,
  not_served: {},
  product: "pet",
  valid_days: 14,
  questions: [
    {
      path: "application.pets.0.spayed_neutered",
      label: "Has the first pet been spayed or neutered?",
      allowed_values: ["true", "false"]
    }
  ],
  scripted_decline: "breed_not_eligible",
  decline: declinePet,
  price: (carrier_id, facts, today) => {
    const carrier = plan.carriers[carrier_id]
    if (carrier === undefined) return null
    return {
      ...ratePet(facts, carrier, today, accidentOnlyFrom(carrier_id)),
      billing_cycle: facts.billing_preference,
      subjects: subjectsOf(facts)
    }
  }
})
