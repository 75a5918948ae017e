import type { CarrierAsk, CarrierOffer } from "../carriers/Carrier.ts"
import type { Assumption } from "../lines/Application.ts"
import { cents } from "../wire/Money.ts"
import { dayMs, fromMillis } from "../wire/Timestamp.ts"
import type { Priced } from "./PlanAnswer.ts"
import type { RatePlan } from "./PlanFormat.ts"

/** The placeholder for the offer's reference in the URL of a plan's page. */
export const offerRefPlace = "{offer_ref}"

/** The carrier's own reference for its only offer. It reveals nothing about the person or the risk. */
export const offerRefOf = (ask: CarrierAsk): string => `${ask.idempotency_key}-1`

/**
 * Merges the assumptions of the service and the carrier. If both have an assumption about the same path, the carrier's
 * is kept.
 */
const merged = (service: ReadonlyArray<Assumption>, carrier: ReadonlyArray<Assumption>): ReadonlyArray<Assumption> => [
  ...service.filter((assumption) => !carrier.some((assumed) => assumed.path === assumption.path)),
  ...carrier
]

/** The offer that a plan makes for an ask, at `answeredAt` in milliseconds of workspace time. */
export const offerOf = (plan: RatePlan, priced: Priced, ask: CarrierAsk, answeredAt: number): CarrierOffer => {
  const { premium, risk } = priced
  const offer_ref = offerRefOf(ask)
  return {
    offer_ref,
    product: plan.product,
    premium: cents(premium.cents),
    term_months: plan.terms.months,
    billing_cycle: risk.billing_preference,
    fees: premium.fees.map((fee) => ({ code: fee.code, amount: cents(fee.cents) })),
    conditions: [...risk.conditions, ...(plan.conditions ?? [])],
    subjects: risk.subjects.map(({ coverages, subject }) => ({ ...subject, coverages })),
    assumptions: merged(ask.assumptions, risk.assumptions),
    expires_at: fromMillis(answeredAt + plan.terms.valid_days * dayMs),
    evidence_label: plan.evidence_label ?? `Price from the carrier's rates as of ${plan.reviewed_on}`,
    handoff_url: plan.handoff?.url.replaceAll(offerRefPlace, encodeURIComponent(offer_ref)) ?? null
  }
}
