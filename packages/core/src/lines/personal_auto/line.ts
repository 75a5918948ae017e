import { codesOf } from "../codes.ts"
import { defineLine } from "../defineLine.ts"
import { smallest } from "../ExampleApplications.ts"
import * as State from "../State.ts"
import { assume, type PersonalAutoFacts, stateOf, subjectsOf } from "./complete.ts"
import { PersonalAuto } from "./facts.ts"
import { rules } from "./rules.ts"

/** The line for car insurance. */
export const personalAuto = defineLine<"personal_auto", PersonalAuto, PersonalAutoFacts, true>({
  name: "personal_auto",
  insures: "cars",
  facts_version: "2026-09-26",
  facts: PersonalAuto,
  example: smallest.personal_auto,
  rules,
  assume,
  stateOf,
  subjectsOf,
  stateLaw: (state) => {
    const { credit_use, liability_minimum } = State.get(state)
    return { credit_use, liability_minimum }
  },
  disclosures: ["auto_state_minimum", "credit_information_use", "credit_not_used"],
  has_credit_disclosure: true,
  premium_includes_fees: false,
  has_quote_events: true,
  ...codesOf({
    covers: {
      bodily_injury_per_person: "Injuries to others that the driver causes, for each person",
      bodily_injury_per_accident: "Injuries to others that the driver causes, for each accident",
      property_damage: "Property of others that the driver damages, for each accident",
      combined_single_limit: "One combined limit for injuries to others and damage to their property",
      uninsured_motorist_bodily_injury_per_person: "Injuries caused by a driver without insurance, for each person",
      uninsured_motorist_bodily_injury_per_accident: "Injuries caused by a driver without insurance, for each accident",
      underinsured_motorist_bodily_injury_per_person:
        "Injuries caused by a driver with too little insurance, for each person",
      underinsured_motorist_bodily_injury_per_accident:
        "Injuries caused by a driver with too little insurance, for each accident",
      uninsured_motorist_property_damage: "Property damaged by a driver without insurance",
      medical_payments: "Treatment of the people in the car, for each person, whoever is at fault",
      personal_injury_protection: "Treatment and lost income of the people in the car, whoever is at fault",
      property_protection: "Damage to parked vehicles and other property in Michigan, whoever is at fault",
      comprehensive: "Theft of the car, and damage to it by anything but a collision",
      collision: "Damage to the car by a collision",
      full_glass: "Glass without a deductible",
      rental_reimbursement_per_day: "A rental car during repairs, for each day",
      rental_reimbursement_maximum: "A rental car during repairs, in total",
      roadside_assistance: "Towing and roadside assistance",
      loan_lease_payoff: "The rest of a loan or lease that the car's value does not cover",
      new_car_replacement: "A new car in place of a new one that is totaled",
      custom_equipment: "Parts that were added to the car",
      rideshare: "Driving for a rideshare company"
    },
    subjects: { vehicle: "A car, truck or van" },
    fees: [
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
  })
})
