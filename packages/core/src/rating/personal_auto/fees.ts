import type { PersonalAutoFacts } from "../../lines/personal_auto/assume.ts"
import type { Rated } from "../Rated.ts"

const pinecrest_installments = 2_500
const copperline_policy = 6_000
const copperline_sr22_each = 2_500
const texas_each_vehicle = 250

/** The fees of a car policy, for the whole term, on top of the premium. */
export const autoFees = (carrier_id: string, facts: PersonalAutoFacts): Rated["fees"] => {
  if (carrier_id === "sbx_pinecrest") {
    return facts.billing_preference === "monthly" ? [{ code: "installment_fee", cents: pinecrest_installments }] : []
  }
  if (carrier_id !== "sbx_copperline") return []
  const filings = facts.drivers.filter((driver) => driver.sr22_required).length
  return [
    { code: "policy_fee", cents: copperline_policy },
    ...(filings === 0 ? [] : [{ code: "sr22_filing_fee", cents: filings * copperline_sr22_each }]),
    ...(facts.garaging_address.state === "TX"
      ? [{ code: "state_fee", cents: facts.vehicles.length * texas_each_vehicle }]
      : [])
  ]
}
