import { toMillis } from "../Timestamp.ts"
import type { CarrierOffer, CoveredSubject } from "./Carrier.ts"
import type { Line } from "./Line.ts"
import * as State from "./State.ts"

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
export const premium_cap = 100_000_000
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
  (offer.expires_at === null || toMillis(offer.expires_at) > context.now) &&
  offer.subjects.every((subject) => context.subject_ids.has(subject.subject_id)) &&
  hasLegalLimits(offer.subjects, context) &&
  isAllowedHandoff(offer.handoff_url, context.handoff_hosts)
    ? cleaned(offer)
    : null

const isAmount = (cents: number): boolean => Number.isSafeInteger(cents) && cents >= 0

const hasSoundPrice = (offer: CarrierOffer): boolean => {
  const { premium, term_months, fees } = offer
  if (premium !== null) {
    if (premium.currency !== "USD" || !isAmount(premium.amount_minor)) return false
    if (premium.amount_minor === 0 || premium.amount_minor >= premium_cap) return false
  }
  if (term_months !== null && !terms_months.includes(term_months)) return false
  return (
    fees.length <= max_list && fees.every(({ amount }) => amount.currency === "USD" && isAmount(amount.amount_minor))
  )
}

/** Liability below the state's minimum cannot be sold, so an offer of it has been misread. */
const hasLegalLimits = (subjects: ReadonlyArray<CoveredSubject>, context: OfferContext): boolean => {
  if (context.line !== "personal_auto") return true
  const minimum: { readonly [fact: string]: number } = { ...State.get(context.state).liability_minimum }
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

const clean = (text: string): string =>
  text
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll(/\p{Cc}/gu, " ")
    .toWellFormed()
    .slice(0, max_text)

const cleanOrNull = (text: string | null): string | null => (text === null ? null : clean(text))

const cleaned = (offer: CarrierOffer): CarrierOffer => ({
  ...offer,
  product: cleanOrNull(offer.product),
  billing_cycle: cleanOrNull(offer.billing_cycle),
  conditions: offer.conditions.slice(0, max_list).map(clean),
  evidence_label: clean(offer.evidence_label),
  subjects: offer.subjects.map((subject) => ({
    ...subject,
    label: cleanOrNull(subject.label),
    coverages: subject.coverages.slice(0, max_list)
  }))
})
