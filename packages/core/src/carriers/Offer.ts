import { DateTime, Option, Result } from "effect"
import type { Line } from "../lines/Line.ts"
import type * as State from "../lines/State.ts"
import { type BrokenRule, rule } from "../wire/BrokenRule.ts"
import * as HttpAddress from "../wire/HttpAddress.ts"
import type { Money } from "../wire/Money.ts"
import { fromMillis } from "../wire/Timestamp.ts"
import { type CarrierOffer, type CoveredSubject, max_ref } from "./Carrier.ts"

/** The context in which an offer is checked. */
export interface OfferContext {
  readonly line: Line
  readonly state: State.StateCode
  /** The ids of the application's subjects. */
  readonly subject_ids: ReadonlySet<string>
  readonly handoff_hosts: ReadonlyArray<string>
  /** Milliseconds of workspace time. */
  readonly now: number
}

/** The highest credible price in US cents. A price above it is a carrier's mistake. */
export const premium_cap = 100_000_000
const terms_months: ReadonlyArray<number> = [1, 6, 12]
const max_text = 500
const max_url = 8_000
const max_list = 100

/**
 * Checks an offer before it is saved, and cleans its texts.
 *
 * Fails with the rules that the offer breaks, by their paths in the offer. A broken offer must not be shown: no value is
 * guessed or corrected. Texts are only cut to length, and markup and control characters are removed.
 */
export const check = (
  offer: CarrierOffer,
  context: OfferContext
): Result.Result<CarrierOffer, ReadonlyArray<BrokenRule>> => {
  const broken = [
    ...brokenPrice(offer),
    ...brokenEnd(offer, context.now),
    ...brokenSubjects(offer.subjects, context),
    ...brokenHandoff(offer.handoff_url, context.handoff_hosts),
    ...rule(offer.offer_ref.length <= max_ref, "offer_ref", `Must have at most ${max_ref} characters.`)
  ]
  return broken.length === 0 ? Result.succeed(cleaned(offer)) : Result.fail(broken)
}

const amount = (money: Money | null, path: string): ReadonlyArray<BrokenRule> =>
  rule(
    money === null || (Number.isSafeInteger(money.amount_minor) && money.amount_minor >= 0),
    `${path}.amount_minor`,
    "Must be a whole number of cents, at least 0."
  )

const brokenPrice = ({ premium, term_months, fees }: CarrierOffer): ReadonlyArray<BrokenRule> => [
  ...rule(
    premium === null ||
      (Number.isSafeInteger(premium.amount_minor) && premium.amount_minor > 0 && premium.amount_minor < premium_cap),
    "premium.amount_minor",
    `Must be a whole number of cents, at least 1 and below ${premium_cap}.`
  ),
  ...rule(
    term_months === null || terms_months.includes(term_months),
    "term_months",
    `Must be one of ${terms_months.join(", ")}.`
  ),
  ...rule(fees.length <= max_list, "fees", `Must hold at most ${max_list} fees.`),
  ...fees.slice(0, max_list).flatMap((fee, index) => amount(fee.amount, `fees.${index}.amount`))
]

const endOf = (offer: CarrierOffer): Option.Option<number> =>
  Option.map(Option.filter(Option.fromNullOr(offer.expires_at), canBeTime), (text) =>
    DateTime.toEpochMillis(DateTime.makeUnsafe(text))
  )

const canBeTime = (text: string): boolean => Option.isSome(DateTime.make(text))

const brokenEnd = (offer: CarrierOffer, now: number): ReadonlyArray<BrokenRule> =>
  rule(
    offer.expires_at === null || Option.exists(endOf(offer), (end) => end > now),
    "expires_at",
    "Must be a time in the future."
  )

const brokenSubjects = (subjects: ReadonlyArray<CoveredSubject>, context: OfferContext): ReadonlyArray<BrokenRule> => {
  // Liability below the state's minimum cannot be sold, so such an offer was misread.
  const minimum: { readonly [fact: string]: number } = { ...context.line.stateLaw(context.state).liability_minimum }
  return subjects.flatMap(({ coverages, subject_id }, index) => [
    ...rule(
      context.subject_ids.has(subject_id),
      `subjects.${index}.subject_id`,
      "Must be a subject of this application, such as vehicle-1, pet-1 or dwelling-1."
    ),
    ...coverages.flatMap(({ code, deductible, limit }, nth) => {
      const path = `subjects.${index}.coverages.${nth}`
      const minimum_usd = minimum[`${code}_usd`]
      return [
        ...amount(deductible, `${path}.deductible`),
        ...amount(limit, `${path}.limit`),
        ...rule(
          limit === null || minimum_usd === undefined || limit.amount_minor >= minimum_usd * 100,
          `${path}.limit.amount_minor`,
          "Must not be below the state's minimum for this liability."
        )
      ]
    })
  ])
}

/** The rule that a link to a carrier breaks, if any. Null means that there is no page. */
export const brokenHandoff = (url: unknown, hosts: ReadonlyArray<string>): ReadonlyArray<BrokenRule> => [
  ...rule(typeof url !== "string" || url.length <= max_url, "handoff_url", `Must have at most ${max_url} characters.`),
  ...rule(
    url === null ||
      (typeof url === "string" &&
        Result.match(HttpAddress.read(url), {
          onSuccess: ({ hostname, protocol }) => protocol === "https:" && hosts.includes(hostname),
          onFailure: () => false
        })),
    "handoff_url",
    "Must be an https URL of one of the adapter's handoff_hosts, without a user name or password."
  )
]

/** Cuts a carrier's text to length, and removes markup and control characters. */
export const clean = (text: string): string =>
  withoutMarkup(text)
    .replaceAll(/\p{Cc}/gu, " ")
    .slice(0, max_text)
    .toWellFormed()

/** After the last `>` no markup ends. Looking for it there would take a time that grows with the square of the length. */
const withoutMarkup = (text: string): string => {
  const end = text.lastIndexOf(">") + 1
  return text.slice(0, end).replaceAll(/<[^>]*>/g, "") + text.slice(end)
}

const cleanOrNull = (text: string | null): string | null => (text === null ? null : clean(text))

const cleanScalar = <A>(value: A): A | string => (typeof value === "string" ? clean(value) : value)

// The offer's reference and URL are for machines, so they stay unchanged.
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
