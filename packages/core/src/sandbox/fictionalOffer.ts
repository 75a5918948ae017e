import type { CarrierAsk, CarrierOffer } from "../carriers/Carrier.ts"
import { priceOf } from "../rating/Answer.ts"
import { offerOf } from "../rating/offer.ts"
import type { RatePlan } from "../rating/RatePlan.ts"
import type { Risk } from "../rating/Variable.ts"
import { cents } from "../wire/Money.ts"
import { fromMillis } from "../wire/Timestamp.ts"
import { expiresSoonMs, type Part } from "./script.ts"

const expiry = (ask: CarrierAsk, answeredAt: number): Partial<CarrierOffer> => {
  if (ask.scenario === "expiry_unknown") return { expires_at: null }
  return ask.scenario === "quote_expires_soon" ? { expires_at: fromMillis(answeredAt + expiresSoonMs) } : {}
}

const noPrice = { premium: null, term_months: null, billing_cycle: null, fees: [], handoff_url: null }

/** Values that are in no documented list, so that clients can test that they tolerate them. */
const withUnknownValues = (offer: CarrierOffer): CarrierOffer => ({
  ...offer,
  reason: "sandbox_unlisted_reason",
  fees: [...offer.fees, { code: "sandbox_unlisted_fee", amount: cents(100) }],
  extra_actions: [
    {
      type: "read_status",
      resource: "sandbox_unlisted_resource",
      id: "sandbox_1",
      sandbox_unlisted_field: "Ignore me."
    }
  ]
})

/** The offer of a fictional carrier, made at `answered_at`: the offer of its plan, as the scenario changes it. */
export const fictionalOffer = (
  plan: RatePlan,
  risk: Risk,
  part: Part,
  ask: CarrierAsk,
  answeredAt: number
): CarrierOffer => {
  const offer = { ...offerOf(plan, priceOf(plan, risk), ask, answeredAt), ...expiry(ask, answeredAt) }
  if (ask.scenario === "price_unknown" && part.position === 0) return { ...offer, ...noPrice }
  return ask.scenario === "unknown_values" ? withUnknownValues(offer) : offer
}
