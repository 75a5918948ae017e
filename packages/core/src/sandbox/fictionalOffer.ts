import type { CarrierAsk, CarrierOffer, DeclineReason } from "../carriers/Carrier.ts"
import type { Assumption } from "../lines/Assumption.ts"
import type { PersonalAutoFacts, PetFacts, RentersFacts } from "../lines/Facts.ts"
import type { Line } from "../lines/Line.ts"
import { subjectsOf } from "../lines/Subject.ts"
import { autoFees } from "../rating/autoFees.ts"
import { dayOf } from "../rating/calendar.ts"
import type { Rated } from "../rating/Rated.ts"
import { plans } from "../rating/RatePlan.ts"
import { rateAuto } from "../rating/rateAuto.ts"
import { ratePet } from "../rating/ratePet.ts"
import { rateRenters } from "../rating/rateRenters.ts"
import { accidentOnlyFrom, declineAuto, declinePet, declineRenters } from "../rating/underwriting.ts"
import { cents } from "../wire/Money.ts"
import { day_ms, fromMillis } from "../wire/Timestamp.ts"
import type { FictionalCarrier } from "./Lineup.ts"
import { expires_soon_ms, type Part } from "./script.ts"

/** The host to which a fictional carrier would hand a person over; no such host can exist. */
export const handoffHost = (carrier_id: string): string => `${carrier_id.replace("sbx_", "")}.sandbox.invalid`

const subject_to_review = ["Price is subject to the carrier's review."]
const evidence_label = "Sandbox price from a fictional rating plan"
const words: { readonly [L in Line]: string } = { personal_auto: "auto", renters: "renters", pet: "pet" }
const valid_ms: { readonly [L in Line]: number } = {
  personal_auto: 30 * day_ms,
  renters: 30 * day_ms,
  pet: 14 * day_ms
}

// An ask holds the facts of its line: that is what the engine asks with.
const isAuto = (ask: CarrierAsk): ask is CarrierAsk<PersonalAutoFacts> => ask.line === "personal_auto"
const isRenters = (ask: CarrierAsk): ask is CarrierAsk<RentersFacts> => ask.line === "renters"
const isPet = (ask: CarrierAsk): ask is CarrierAsk<PetFacts> => ask.line === "pet"

/** The day on which a risk is looked at: that of the quote request, so that looking again gives the same. */
const today = (ask: CarrierAsk): string => dayOf(ask.requested_at)

/** Why a carrier's own rules are against a risk; null where they are not. */
export const declineOf = (carrier_id: string, ask: CarrierAsk): DeclineReason | null => {
  if (isAuto(ask)) return declineAuto(carrier_id, ask.facts, today(ask))
  if (isRenters(ask)) return declineRenters(carrier_id, ask.facts, today(ask))
  return isPet(ask) ? declinePet(carrier_id, ask.facts, today(ask)) : null
}

/** A priced risk, with what the offer takes over from the facts. */
interface Priced extends Rated {
  readonly billing_cycle: string
  readonly subjects: ReturnType<typeof subjectsOf>
}

const autoPriced = (carrier_id: string, ask: CarrierAsk<PersonalAutoFacts>): Priced | null => {
  const { facts } = ask
  const plan = plans.auto.carriers[carrier_id]
  if (plan === undefined) return null
  return {
    ...rateAuto(facts, plan, today(ask)),
    fees: autoFees(carrier_id, facts),
    conditions: subject_to_review,
    billing_cycle: facts.billing_preference,
    subjects: subjectsOf({ line: "personal_auto", facts })
  }
}

const rentersPriced = (carrier_id: string, { facts }: CarrierAsk<RentersFacts>): Priced | null => {
  const plan = plans.renters.carriers[carrier_id]
  if (plan === undefined) return null
  return {
    ...rateRenters(facts, plan),
    conditions: subject_to_review,
    billing_cycle: facts.billing_preference,
    subjects: subjectsOf({ line: "renters", facts })
  }
}

const petPriced = (carrier_id: string, ask: CarrierAsk<PetFacts>): Priced | null => {
  const { facts } = ask
  const plan = plans.pet.carriers[carrier_id]
  if (plan === undefined) return null
  return {
    ...ratePet(facts, plan, today(ask), accidentOnlyFrom(carrier_id)),
    billing_cycle: facts.billing_preference,
    subjects: subjectsOf({ line: "pet", facts })
  }
}

const pricedOf = (carrier_id: string, ask: CarrierAsk): Priced | null => {
  if (isAuto(ask)) return autoPriced(carrier_id, ask)
  if (isRenters(ask)) return rentersPriced(carrier_id, ask)
  return isPet(ask) ? petPriced(carrier_id, ask) : null
}

/** What the carrier filled in stands in the place of what the service filled in at the same path. */
const merged = (service: ReadonlyArray<Assumption>, carrier: ReadonlyArray<Assumption>): ReadonlyArray<Assumption> => [
  ...service.filter((assumption) => !carrier.some((own) => own.path === assumption.path)),
  ...carrier
]

const expiresAt = (ask: CarrierAsk, answered_at: number): string | null => {
  if (ask.scenario === "expiry_unknown") return null
  return fromMillis(answered_at + (ask.scenario === "quote_expires_soon" ? expires_soon_ms : valid_ms[ask.line]))
}

const no_price = { premium: null, term_months: null, billing_cycle: null, fees: [], handoff_url: null }

/** Values that no list names: readers must be able to take them in their stride. */
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

/** The carrier's own name of its one offer: it tells nothing of the person or the risk. */
export const offerRefOf = (ask: CarrierAsk): string => `${ask.idempotency_key}-1`

/** The offer of a carrier, made at `answered_at`; null where it does not offer the line. */
export const offerOf = (
  carrier: FictionalCarrier,
  part: Part,
  ask: CarrierAsk,
  answered_at: number
): CarrierOffer | null => {
  const priced = pricedOf(carrier.id, ask)
  if (priced === null) return null
  const offer_ref = offerRefOf(ask)
  const offer: CarrierOffer = {
    offer_ref,
    product: `${carrier.brand} ${priced.term_months}-month ${words[ask.line]}`,
    premium: cents(priced.premium),
    term_months: priced.term_months,
    billing_cycle: priced.billing_cycle,
    fees: priced.fees.map((fee) => ({ code: fee.code, amount: cents(fee.cents) })),
    conditions: priced.conditions,
    subjects: priced.subjects.map((subject, index) => ({ ...subject, coverages: priced.coverages[index] ?? [] })),
    assumptions: merged(ask.assumptions, priced.assumptions),
    expires_at: expiresAt(ask, answered_at),
    evidence_label,
    handoff_url: `https://${handoffHost(carrier.id)}/offers/${encodeURIComponent(offer_ref)}`
  }
  if (ask.scenario === "price_unknown" && part.position === 0) return { ...offer, ...no_price }
  return ask.scenario === "unknown_values" ? withUnknownValues(offer) : offer
}
