import { codesOf } from "../codes.ts"
import { defineLine } from "../defineLine.ts"
import { smallest } from "../ExampleApplications.ts"
import { assume, type RentersFacts, stateOf, subjectsOf } from "./complete.ts"
import { Renters } from "./facts.ts"
import { rules } from "./rules.ts"

/** The line for renters insurance. */
export const renters = defineLine<"renters", Renters, RentersFacts>({
  name: "renters",
  insures: "rented homes",
  facts_version: "2026-09-26",
  facts: Renters,
  example: smallest.renters,
  rules,
  assume,
  stateOf,
  subjectsOf,
  disclosures: ["renters_not_flood_quake"],
  has_credit_disclosure: false,
  premium_includes_fees: true,
  has_quote_events: true,
  ...codesOf({
    covers: {
      personal_property: "Belongings that are damaged or stolen (coverage C)",
      replacement_cost: "Pays what new belongings cost; if not included, what the old ones were worth",
      loss_of_use: "Extra costs of living elsewhere while the home cannot be lived in (coverage D)",
      liability: "Harm that the person is liable for (coverage E)",
      medical_payments: "Treatment of injured guests (coverage F)",
      deductible: "What the person pays first on each claim",
      wind_hail_deductible: "What the person pays first on a claim for wind or hail damage",
      water_backup: "Damage by water that backs up from drains and sewers",
      identity_theft: "Costs of restoring a stolen identity",
      scheduled_property: "Valuables that are listed one by one",
      earthquake: "Damage by an earthquake"
    },
    subjects: { dwelling: "The rented home" },
    fees: ["policy_fee", "installment_fee", "inspection_fee", "broker_fee", "electronic_payment_fee"]
  })
})
