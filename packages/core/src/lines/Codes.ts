import type { Line } from "./Line.ts"

/** The codes that quotes of a line use today. All of these lists can grow; readers ignore codes that they do not know. */
export interface Codes {
  readonly coverage_codes: ReadonlyArray<string>
  readonly subject_kinds: ReadonlyArray<string>
  readonly billing_cycles: ReadonlyArray<string>
  readonly fee_codes: ReadonlyArray<string>
}

const billing_cycles = ["pay_in_full", "monthly", "two_payments", "quarterly", "semiannual", "annual"]

const codes: { readonly [L in Line]: Codes } = {
  personal_auto: {
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
  },
  renters: {
    coverage_codes: [
      "personal_property",
      "replacement_cost",
      "loss_of_use",
      "liability",
      "medical_payments",
      "deductible",
      "wind_hail_deductible",
      "water_backup",
      "identity_theft",
      "scheduled_property",
      "earthquake"
    ],
    subject_kinds: ["dwelling"],
    billing_cycles,
    fee_codes: ["policy_fee", "installment_fee", "inspection_fee", "broker_fee", "electronic_payment_fee"]
  },
  pet: {
    coverage_codes: [
      "accident",
      "illness",
      "wellness",
      "exam_fees",
      "prescription",
      "dental_illness",
      "behavioral",
      "rehabilitation",
      "hereditary_conditions"
    ],
    subject_kinds: ["pet"],
    billing_cycles,
    fee_codes: ["policy_fee", "installment_fee", "enrollment_fee", "broker_fee", "electronic_payment_fee"]
  }
}

/** The codes that quotes of a line use today. */
export const codesOf = (line: Line): Codes => codes[line]
