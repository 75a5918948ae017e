import type { RentersFacts } from "../../lines/renters/assume.ts"
import { renters as line, subjectsOf } from "../../lines/renters/line.ts"
import { subject_to_review } from "../Rated.ts"
import * as Rating from "../Rating.ts"
import { plan } from "./plan.ts"
import { rateRenters } from "./rate.ts"
import { declineRenters } from "./underwriting.ts"

/** How the fictional carriers rate renters insurance. */
export const renters = Rating.make<RentersFacts>({
  line: line.name,
  carriers: plan.carriers,
  not_served: { sbx_brightstoop: ["AK", "HI", "LA"] },
  product: "renters",
  valid_days: 30,
  questions: [{ path: "application.dwelling.year_built", label: "In which year was the building built?" }],
  scripted_decline: "property_not_eligible",
  decline: declineRenters,
  price: (carrier_id, facts) => {
    const carrier = plan.carriers[carrier_id]
    if (carrier === undefined) return null
    return {
      ...rateRenters(facts, carrier),
      conditions: subject_to_review,
      billing_cycle: facts.billing_preference,
      subjects: subjectsOf(facts)
    }
  }
})
