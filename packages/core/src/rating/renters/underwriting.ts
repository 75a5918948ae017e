import type { DeclineReason } from "../../carriers/Carrier.ts"
import type { RentersFacts } from "../../lines/renters/assume.ts"
import { type CarrierRules, firstReason, rule, startDate } from "../underwriting.ts"

const claims = (most: number) =>
  rule<RentersFacts>("prior_claims", (facts) => facts.household.claims_last_5_years > most)

const rentersRules: CarrierRules<RentersFacts> = {
  sbx_lanternway: [
    claims(2),
    rule("property_not_eligible", (facts) => facts.dwelling.type === "mobile_home"),
    rule("risk_outside_guidelines", (facts) => facts.household.dog_with_bite_history)
  ],
  sbx_harborline: [
    rule("property_not_eligible", (facts) => facts.dwelling.short_term_rental || facts.dwelling.student_housing)
  ],
  sbx_brightstoop: [claims(1)]
}

/** Why a carrier declines this renter; null if it accepts. */
export const declineRenters = (carrier_id: string, facts: RentersFacts, today: string): DeclineReason | null =>
  firstReason([startDate, ...(rentersRules[carrier_id] ?? [])], facts, today)
