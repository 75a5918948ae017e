import { type Subject, subject } from "../Application.ts"
import { defineLine } from "../defineLine.ts"
import { billing_cycles } from "../sharedFacts.ts"
import { assume } from "./assume.ts"
import { example } from "./example.ts"
import { Renters } from "./facts.ts"
import { rules } from "./rules.ts"

const homes: { readonly [T in Renters["dwelling"]["type"]]: string } = {
  apartment: "apartment",
  condo: "condo",
  townhouse: "townhouse",
  duplex: "duplex",
  single_family: "house",
  mobile_home: "mobile home",
  other: "home"
}

const dwellingLabel = ({ address, type }: Renters["dwelling"]): string =>
  `Rented ${homes[type]} in ${address.city === undefined ? "" : `${address.city}, `}${address.state}`

/** The subject of renters insurance. */
export const subjectsOf = (facts: Renters): ReadonlyArray<Subject> => [
  subject("dwelling", 0, dwellingLabel(facts.dwelling))
]

/** Renters insurance. */
export const renters = defineLine({
  name: "renters",
  insures: "rented homes",
  facts_version: "2026-09-26",
  facts: Renters,
  example,
  rules,
  assume,
  stateOf: (facts) => facts.dwelling.address.state,
  subjectsOf,
  stateLaw: () => ({}),
  disclosures: ["renters_not_flood_quake"],
  has_credit_disclosure: false,
  premium_includes_fees: true,
  has_quote_events: true,
  codes: {
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
  }
})
