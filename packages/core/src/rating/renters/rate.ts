import type { CoverageItem } from "../../carriers/Carrier.ts"
import type { Assumption } from "../../lines/Application.ts"
import type { RentersFacts } from "../../lines/renters/assume.ts"
import * as State from "../../lines/State.ts"
import { deductible, limited, plain, type Rated } from "../Rated.ts"
import { factor, mulAll, neutral, step, territory } from "../RatePlan.ts"
import { type RentersCarrierPlan, plan as rentersPlan } from "./plan.ts"

const { factors, territory_bp } = rentersPlan

const replacement_cost = 11_200
const sprinkler = 9_600
const burglar_alarm = 9_500
const term_months = 12
/** Cover for loss of use, in percent of the cover for personal property. */
const loss_of_use_percent = 30

/** The factor of a personal property limit: interpolated between the limits of the plan, in whole ten-thousandths. */
export const contentsFactor = (usd: number): number => {
  const above = factors.contents.findIndex(([limit]) => usd <= limit)
  const upper = factors.contents.at(above)
  const lower = above > 0 ? factors.contents[above - 1] : undefined
  if (upper === undefined) return neutral
  if (above < 0 || lower === undefined) return upper[1]
  return lower[1] + Math.floor(((upper[1] - lower[1]) * (usd - lower[0])) / (upper[0] - lower[0]))
}

/** The liability limit: the renter's choice, or the landlord's minimum if that is higher. */
const liabilityOf = (facts: RentersFacts): number =>
  Math.max(facts.coverage.liability_usd, facts.landlord_minimum_liability_usd ?? 0)

const raised = (facts: RentersFacts): ReadonlyArray<Assumption> => {
  const value = liabilityOf(facts)
  if (value === facts.coverage.liability_usd) return []
  const path = "application.coverage.liability_usd"
  return [{ path, value, source: "carrier_default", label: "Raised to the landlord's minimum" }]
}

const coveragesOf = (facts: RentersFacts): ReadonlyArray<CoverageItem> => {
  const { coverage } = facts
  return [
    limited("personal_property", coverage.personal_property_usd),
    plain("replacement_cost", coverage.replacement_cost),
    limited("loss_of_use", Math.floor((coverage.personal_property_usd * loss_of_use_percent) / 100)),
    limited("liability", liabilityOf(facts)),
    limited("medical_payments", coverage.medical_payments_usd),
    deductible("deductible", coverage.deductible_usd),
    plain("water_backup", false),
    plain("identity_theft", false)
  ]
}

const when = (holds: boolean | undefined, value: number): number => (holds === true ? value : neutral)

/** The price of a renters policy for twelve months. Its fees are part of the premium. */
export const rateRenters = (facts: RentersFacts, plan: RentersCarrierPlan): Omit<Rated, "conditions"> => {
  const { coverage, dwelling, household } = facts
  const claims = Math.min(household.claims_last_5_years, factors.claims.length - 1)
  const price = mulAll(100 * State.get(dwelling.address.state).renters_average_usd, [
    plan.base,
    contentsFactor(coverage.personal_property_usd),
    factor(factors.ded, coverage.deductible_usd),
    factor(factors.dwelling, dwelling.type),
    dwelling.year_built === undefined ? neutral : step(factors.built, dwelling.year_built),
    factors.claims[claims] ?? neutral,
    when(coverage.replacement_cost, replacement_cost),
    when(dwelling.automatic_sprinkler, sprinkler),
    when(dwelling.monitored_burglar_alarm, burglar_alarm),
    territory(territory_bp, dwelling.address.zip)
  ])
  const additions = (factors.liab[liabilityOf(facts)] ?? 0) + (factors.med[coverage.medical_payments_usd] ?? 0)
  return {
    premium: Math.max(plan.minimum, price + additions) + plan.fee,
    term_months,
    fees: plan.fee === 0 ? [] : [{ code: "policy_fee", cents: plan.fee }],
    coverages: [coveragesOf(facts)],
    assumptions: raised(facts)
  }
}
