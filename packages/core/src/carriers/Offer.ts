import { DateTime, Option } from "effect"
import type { Line } from "../lines/Line.ts"
import type * as State from "../lines/State.ts"
import type { Money } from "../wire/Money.ts"
import { fromMillis } from "../wire/Timestamp.ts"
import type { CarrierOffer, CoveredSubject } from "./Carrier.ts"

/** What an offer is checked against. */
export interface OfferContext {
  readonly line: Line
  readonly state: State.StateCode
  /** The ids of the application's subjects. */
  readonly subject_ids: ReadonlySet<string>
  readonly handoff_hosts: ReadonlyArray<string>
  /** Milliseconds of workspace time. */
  readonly now: number
}

/** No term costs more than this: a price above it is a carrier's mistake, in US cents. */
const premium_cap = 100_000_000
const terms_months: ReadonlyArray<number> = [1, 6, 12]
const max_text = 500
const max_list = 100

/**
 * Checks an offer before it is saved, and cleans its texts.
 *
 * Null where it must not be shown: the carrier then counts as `unreadable_answer`. Nothing is guessed or mended but
 * texts, which are cut to length and freed of markup and control characters.
 */
export const check = (offer: CarrierOffer, context: OfferContext): CarrierOffer | null =>
  hasSoundPrice(offer) &&
  hasFutureEnd(offer, context.now) &&
  offer.subjects.every((subject) => context.subject_ids.has(subject.subject_id)) &&
  hasLegalLimits(offer.subjects, context) &&
  isAllowedHandoff(offer.handoff_url, context.handoff_hosts)
    ? cleaned(offer)
    : null

const isAmount = ({ amount_minor, currency }: Money): boolean =>
  currency === "USD" && Number.isSafeInteger(amount_minor) && amount_minor >= 0

const isAmountOrNull = (amount: Money | null): boolean => amount === null || isAmount(amount)

const endOf = (offer: CarrierOffer): Option.Option<number> =>
  Option.map(Option.filter(Option.fromNullOr(offer.expires_at), canBeTime), (text) =>
    DateTime.toEpochMillis(DateTime.makeUnsafe(text))
  )

const canBeTime = (text: string): boolean => Option.isSome(DateTime.make(text))

const hasFutureEnd = (offer: CarrierOffer, now: number): boolean =>
  offer.expires_at === null || Option.exists(endOf(offer), (end) => end > now)

const hasSoundPrice = (offer: CarrierOffer): boolean => {
  const { premium, term_months, fees } = offer
  if (premium !== null) {
    if (!isAmount(premium)) return false
    if (premium.amount_minor === 0 || premium.amount_minor >= premium_cap) return false
  }
  if (term_months !== null && !terms_months.includes(term_months)) return false
  const covers = offer.subjects.flatMap((subject) => subject.coverages)
  return (
    fees.length <= max_list &&
    fees.every(({ amount }) => isAmount(amount)) &&
    covers.every(({ deductible, limit }) => isAmountOrNull(deductible) && isAmountOrNull(limit))
  )
}

/** Liability below the state's minimum cannot be sold, so an offer of it has been misread. */
const hasLegalLimits = (subjects: ReadonlyArray<CoveredSubject>, context: OfferContext): boolean => {
  const minimum: { readonly [fact: string]: number } = { ...context.line.lawOf(context.state).liability_minimum }
  return subjects.every((subject) =>
    subject.coverages.every(({ code, limit }) => {
      const least_usd = minimum[`${code}_usd`]
      return least_usd === undefined || limit === null || limit.amount_minor >= least_usd * 100
    })
  )
}

const isAllowedHandoff = (url: string | null, hosts: ReadonlyArray<string>): boolean => {
  if (url === null) return true
  if (!URL.canParse(url)) return false
  const { protocol, hostname, username, password } = new URL(url)
  return protocol === "https:" && username === "" && password === "" && hosts.includes(hostname)
}

/** Cuts a text of a carrier to length, and frees it of markup and control characters. */
export const clean = (text: string): string =>
  text
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll(/\p{Cc}/gu, " ")
    .slice(0, max_text)
    .toWellFormed()

const cleanOrNull = (text: string | null): string | null => (text === null ? null : clean(text))

const cleanScalar = <A>(value: A): A | string => (typeof value === "string" ? clean(value) : value)

// What the carrier calls its offer, and its address, are for machines: they stay as they are.
const cleaned = (offer: CarrierOffer): CarrierOffer => ({
  ...offer,
  product: cleanOrNull(offer.product),
  billing_cycle: cleanOrNull(offer.billing_cycle),
  fees: offer.fees.map((fee) => ({ code: clean(fee.code), amount: fee.amount })),
  conditions: offer.conditions.slice(0, max_list).map(clean),
  evidence_label: clean(offer.evidence_label),
  expires_at: Option.getOrNull(Option.map(endOf(offer), fromMillis)),
  subjects: offer.subjects.slice(0, max_list).map((subject) => ({
    subject_id: subject.subject_id,
    kind: clean(subject.kind),
    label: cleanOrNull(subject.label),
    coverages: subject.coverages.slice(0, max_list).map((cover) => ({ ...cover, code: clean(cover.code) }))
  })),
  assumptions: offer.assumptions.slice(0, max_list).map((assumption) => ({
    path: clean(assumption.path),
    value: cleanScalar(assumption.value),
    source: clean(assumption.source),
    ...(assumption.label !== undefined && { label: clean(assumption.label) })
  })),
  ...(offer.reason !== undefined && { reason: clean(offer.reason) })
})
