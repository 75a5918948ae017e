import { Predicate } from "effect"
import type { Assumption } from "../lines/Application.ts"
import { fromDate } from "../wire/Timestamp.ts"
import type {
  CarrierOffer,
  CarrierRefresh,
  CarrierReply,
  Decline,
  DeclineReason,
  NoAnswerReason,
  Unavailable
} from "./Carrier.ts"

/* Functions that make an adapter's answers. Each returns plain data that matches the schemas in `Carrier`. */

/** An offer in which only the carrier's reference is required. Absent, undefined or null means unknown, never zero. */
export type PartialOffer = Pick<CarrierOffer, "offer_ref"> & {
  readonly [Field in Exclude<keyof CarrierOffer, "offer_ref" | "expires_at">]?: CarrierOffer[Field] | null | undefined
} & {
  /** When the offer expires: a `Date`, or text with a time and an offset. */
  readonly expires_at?: CarrierOffer["expires_at"] | Date | undefined
}

/**
 * Completes an offer: everything that the carrier left out becomes null or empty.
 *
 * @example
 * offer({ offer_ref: "Q-1", premium: Money.dollars(180), term_months: 12 })
 */
export const offer = (partialOffer: PartialOffer): CarrierOffer => {
  const { extra_actions, reason, refresh_after_ms } = partialOffer
  return {
    offer_ref: partialOffer.offer_ref,
    product: partialOffer.product ?? null,
    premium: partialOffer.premium ?? null,
    term_months: partialOffer.term_months ?? null,
    billing_cycle: partialOffer.billing_cycle ?? null,
    fees: partialOffer.fees ?? [],
    conditions: partialOffer.conditions ?? [],
    subjects: partialOffer.subjects ?? [],
    assumptions: partialOffer.assumptions ?? [],
    expires_at: Predicate.isDate(partialOffer.expires_at)
      ? fromDate(partialOffer.expires_at)
      : (partialOffer.expires_at ?? null),
    evidence_label: partialOffer.evidence_label ?? "Price from the carrier",
    handoff_url: partialOffer.handoff_url ?? null,
    ...(Predicate.isNotNullish(extra_actions) && { extra_actions }),
    ...(Predicate.isNotNullish(reason) && { reason }),
    ...(Predicate.isNotNullish(refresh_after_ms) && { refresh_after_ms })
  }
}

/** A reply: the carrier makes these offers. */
export const offers = (partialOffers: ReadonlyArray<PartialOffer>): CarrierReply => ({
  kind: "offers",
  offers: partialOffers.map(offer)
})

/** A reply: the carrier does not insure this risk. `message` is shown to the person, so it must not repeat a fact. */
export const decline = (reason: DeclineReason, message?: string | null): Decline => ({
  kind: "declined",
  reason,
  ...(Predicate.isNotNullish(message) && { message })
})

/**
 * A reply: the carrier has accepted the ask and will answer later. `ref` is the carrier's own reference for the ask.
 *
 * With `poll_after_ms`, the service calls `poll` after that time. Without it, the service waits for the carrier's
 * callback.
 */
export const pending = (
  ref: string,
  options: { readonly poll_after_ms?: number | null | undefined } = {}
): CarrierReply => ({
  kind: "pending",
  ref,
  poll_after_ms: options.poll_after_ms ?? null
})

/** A question that a carrier asks. Its label is shown to the person, so it must not repeat a fact. */
export type Question = Extract<CarrierReply, { readonly kind: "question" }>["questions"][number]

/** A reply: the carrier needs the answers to one or more questions. */
export const question = (...questions: ReadonlyArray<Question>): CarrierReply => ({ kind: "question", questions })

/** A reply: the carrier gives no answer now. `retry_after_ms` is how long the carrier asks the service to wait. */
export const unavailable = (reason: NoAnswerReason, retry_after_ms?: number | null): Unavailable => ({
  kind: "unavailable",
  reason,
  ...(Predicate.isNotNullish(retry_after_ms) && { retry_after_ms })
})

/**
 * A reply: the carrier will not answer, not even later. The service neither asks nor polls it again for this request.
 */
export const failed = (reason: NoAnswerReason): Unavailable => ({ kind: "unavailable", reason, final: true })

/** An answer to `refresh`: the current offer, and why it is returned. */
export const refreshed = (
  reason: Extract<CarrierRefresh, { readonly kind: "offer" }>["reason"],
  partialOffer: PartialOffer
): CarrierRefresh => ({ kind: "offer", reason, offer: offer(partialOffer) })

/** An answer to `refresh`: the carrier has withdrawn the offer. */
export const withdrawn: CarrierRefresh = { kind: "withdrawn" }

/** Adds an ask's assumptions to an offer. Skips facts for which the offer already lists an assumption. */
export const withAssumptions = (carrierOffer: CarrierOffer, assumed: ReadonlyArray<Assumption>): CarrierOffer => {
  const named = new Set(carrierOffer.assumptions.map(({ path }) => path))
  return {
    ...carrierOffer,
    assumptions: [...carrierOffer.assumptions, ...assumed.filter(({ path }) => !named.has(path))]
  }
}
