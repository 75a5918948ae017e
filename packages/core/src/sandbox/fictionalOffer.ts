import type { CarrierAsk, CarrierOffer } from "../carriers/Carrier.ts"
import type { Assumption } from "../lines/Application.ts"
import type { Rating } from "../rating/Rating.ts"
import { cents } from "../wire/Money.ts"
import { day_ms, fromMillis } from "../wire/Timestamp.ts"
import type { FictionalCarrier } from "./Lineup.ts"
import { expires_soon_ms, type Part } from "./script.ts"

/** The host of a fictional carrier's own site. The reserved domain `.invalid` guarantees that it does not exist. */
export const handoffHost = (carrier_id: string): string => `${carrier_id.replace("sbx_", "")}.sandbox.invalid`

const evidence_label = "Sandbox price from a fictional rating plan"

/** Merges the assumptions of both; at the same path the carrier's wins. */
const merged = (service: ReadonlyArray<Assumption>, carrier: ReadonlyArray<Assumption>): ReadonlyArray<Assumption> => [
  ...service.filter((assumption) => !carrier.some((own) => own.path === assumption.path)),
  ...carrier
]

const expiresAt = ({ valid_days }: Rating, ask: CarrierAsk, answered_at: number): string | null => {
  if (ask.scenario === "expiry_unknown") return null
  return fromMillis(answered_at + (ask.scenario === "quote_expires_soon" ? expires_soon_ms : valid_days * day_ms))
}

const no_price = { premium: null, term_months: null, billing_cycle: null, fees: [], handoff_url: null }

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

/** The carrier's own reference for its one offer. It reveals nothing about the person or the risk. */
export const offerRefOf = (ask: CarrierAsk): string => `${ask.idempotency_key}-1`

/** A carrier's offer, made at `answered_at`; null if the carrier does not offer the line. */
export const offerOf = (
  carrier: FictionalCarrier,
  rating: Rating,
  part: Part,
  ask: CarrierAsk,
  answered_at: number
): CarrierOffer | null => {
  const priced = rating.price(carrier.id, ask)
  if (priced === null) return null
  const offer_ref = offerRefOf(ask)
  const offer: CarrierOffer = {
    offer_ref,
    product: `${carrier.brand} ${priced.term_months}-month ${rating.product}`,
    premium: cents(priced.premium),
    term_months: priced.term_months,
    billing_cycle: priced.billing_cycle,
    fees: priced.fees.map((fee) => ({ code: fee.code, amount: cents(fee.cents) })),
    conditions: priced.conditions,
    subjects: priced.subjects.map((subject, index) => ({ ...subject, coverages: priced.coverages[index] ?? [] })),
    assumptions: merged(ask.assumptions, priced.assumptions),
    expires_at: expiresAt(rating, ask, answered_at),
    evidence_label,
    handoff_url: `https://${handoffHost(carrier.id)}/offers/${encodeURIComponent(offer_ref)}`
  }
  if (ask.scenario === "price_unknown" && part.position === 0) return { ...offer, ...no_price }
  return ask.scenario === "unknown_values" ? withUnknownValues(offer) : offer
}
