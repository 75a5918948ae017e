import type { PersonalAutoFacts } from "../../lines/personal_auto/assume.ts"
import { personalAuto as line, subjectsOf } from "../../lines/personal_auto/line.ts"
import { servedStates } from "../../lines/State.ts"
import { subject_to_review } from "../Rated.ts"
import * as Rating from "../Rating.ts"
import { autoFees } from "./fees.ts"
import { plan } from "./plan.ts"
import { rateAuto } from "./rate.ts"
import { declineAuto } from "./underwriting.ts"

/** How the fictional carriers rate car insurance. */
export const personalAuto = Rating.make<PersonalAutoFacts>({
  line: line.name,
  carriers: plan.carriers,
  not_served: { sbx_bluefern: ["MA", "MI", "NY"], sbx_copperline: ["HI", "MA", "NC"] },
  product: "auto",
  valid_days: 30,
  questions: [
    {
      path: "application.drivers.0.license_state",
      label: "Which state issued the first driver's license?",
      allowed_values: servedStates
    }
  ],
  scripted_decline: "risk_outside_guidelines",
  decline: declineAuto,
  price: (carrier_id, facts, today) => {
    const carrier = plan.carriers[carrier_id]
    if (carrier === undefined) return null
    return {
      ...rateAuto(facts, carrier, today),
      fees: autoFees(carrier_id, facts),
      conditions: subject_to_review,
      billing_cycle: facts.billing_preference,
      subjects: subjectsOf(facts)
    }
  }
})
