import { type Subject, subject } from "../Application.ts"
import { defineLine } from "../defineLine.ts"
import * as State from "../State.ts"
import { billing_cycles } from "../sharedFacts.ts"
import { assume } from "./assume.ts"
import { example } from "./example.ts"
import { PersonalAuto } from "./facts.ts"
import { rules } from "./rules.ts"

const vehicleLabel = ({ model_year, make, model }: PersonalAuto["vehicles"][number]): string | null => {
  const words = [model_year, make, model].filter((word) => word !== undefined)
  return words.length === 0 ? null : words.join(" ")
}

/** The subjects of car insurance. */
export const subjectsOf = (facts: PersonalAuto): ReadonlyArray<Subject> =>
  facts.vehicles.map((vehicle, i) => subject("vehicle", i, vehicleLabel(vehicle)))

/** Car insurance. */
export const personalAuto = defineLine({
  name: "personal_auto",
  insures: "cars",
  facts_version: "2026-09-26",
  facts: PersonalAuto,
  example,
  rules,
  assume,
  stateOf: (facts) => facts.garaging_address.state,
  subjectsOf,
  stateLaw: (state) => {
    const { credit_use, liability_minimum } = State.get(state)
    return { credit_use, liability_minimum }
  },
  disclosures: ["auto_state_minimum", "credit_information_use", "credit_not_used"],
  has_credit_disclosure: true,
  premium_includes_fees: false,
  has_quote_events: true,
  codes: {
    coverage_codes: [
      "bodily_injury_per_person",
      "bodily_injury_per_accident",
      "property_damage",
      "combined_single_limit",
      "uninsured_motorist_bodily_injury_per_person",
      "uninsured_motorist_bodily_injury_per_accident",
      "underinsured_motorist_bodily_injury_per_person",
      "underinsured_motorist_bodily_injury_per_accident",
      "uninsured_motorist_property_damage",
      "medical_payments",
      "personal_injury_protection",
      "property_protection",
      "comprehensive",
      "collision",
      "full_glass",
      "rental_reimbursement_per_day",
      "rental_reimbursement_maximum",
      "roadside_assistance",
      "loan_lease_payoff",
      "new_car_replacement",
      "custom_equipment",
      "rideshare"
    ],
    subject_kinds: ["vehicle"],
    billing_cycles,
    fee_codes: [
      "policy_fee",
      "installment_fee",
      "sr22_filing_fee",
      "state_fee",
      "fraud_assessment_fee",
      "guaranty_surcharge",
      "inspection_fee",
      "membership_fee",
      "broker_fee",
      "electronic_payment_fee"
    ]
  }
})
