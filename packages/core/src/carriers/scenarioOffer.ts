import { cents } from "../wire/Money.ts"
import { fromMillis } from "../wire/Timestamp.ts"
import type { CarrierOffer } from "./Carrier.ts"
import type { ScenarioName } from "./Scenario.ts"
import { expiresSoonMs, type ScenarioRole } from "./script.ts"

const scenarioExpiry = (scenario: ScenarioName | null, answeredAt: number): Partial<CarrierOffer> => {
  if (scenario === "expiry_unknown") return { expires_at: null }
  return scenario === "quote_expires_soon" ? { expires_at: fromMillis(answeredAt + expiresSoonMs) } : {}
}

const noPrice = { premium: null, term_months: null, billing_cycle: null, fees: [], handoff_url: null }

/** Adds undocumented values, so that developers can test that their clients tolerate such values. */
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

/** An offer made at `answeredAt`, with the scenario's changes. */
export const scenarioOffer = (
  carrierOffer: CarrierOffer,
  scenario: ScenarioName | null,
  role: ScenarioRole,
  answeredAt: number
): CarrierOffer => {
  const offer = { ...carrierOffer, ...scenarioExpiry(scenario, answeredAt) }
  if (scenario === "price_unknown" && role.position === 0) return { ...offer, ...noPrice }
  return scenario === "unknown_values" ? withUnknownValues(offer) : offer
}
