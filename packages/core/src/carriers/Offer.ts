import { DateTime, Option, Record, Result } from "effect"
import type { Line } from "../lines/Line.ts"
import type * as State from "../lines/State.ts"
import { type BrokenRule, rule } from "../wire/BrokenRule.ts"
import { isCalendarDay } from "../wire/CalendarDay.ts"
import * as HttpAddress from "../wire/HttpAddress.ts"
import type { Money } from "../wire/Money.ts"
import { plain } from "../wire/PlainText.ts"
import { fromMillis } from "../wire/Timestamp.ts"
import { type CarrierOffer, type CoveredSubject, maxRef, type NextAction } from "./Carrier.ts"
import type { SecretFinder } from "./secrets/SecretFinder.ts"

/** The data about a request that the check of its offers needs. */
export interface OfferContext {
  readonly line: Line
  readonly state: State.StateCode
  /** The IDs of the application's subjects. */
  readonly subject_ids: ReadonlySet<string>
  readonly handoff_hosts: ReadonlyArray<string>
  /** The secrets that were sent to the carrier. No text in the offer may repeat one. */
  readonly secrets: SecretFinder
  /** The current time, in milliseconds of workspace time. */
  readonly now: number
  /**
   * Whether the carrier is fictional; false by default. Fictional carriers may add actions that real carriers may not.
   */
  readonly is_simulated?: boolean
}

/** The highest credible price, in US cents. A higher price is treated as a mistake by the carrier. */
export const premiumCap = 100_000_000
const termsMonths: ReadonlyArray<number> = [1, 6, 12]
const maxText = 500
/**
 * The maximum number of characters of a text that are read. Later characters would be cut off anyway, unless most of
 * the text is hidden characters.
 */
const maxRead = 10 * maxText
const maxUrl = 8_000
const maxList = 100

/**
 * Checks an offer before it is saved, and cleans its text.
 *
 * Fails with the rules that the offer breaks, by their paths in the offer. An offer that breaks a rule must not be
 * shown, and no value is guessed or corrected. Text is only truncated and stripped of markup, hidden characters and
 * secrets.
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
    ...brokenActions(offer.extra_actions, context),
    ...rule(offer.offer_ref.length <= maxRef, "offer_ref", `Must have at most ${maxRef} characters.`)
  ]
  return broken.length === 0 ? Result.succeed(cleaned(offer, context.secrets)) : Result.fail(broken)
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
      (Number.isSafeInteger(premium.amount_minor) && premium.amount_minor > 0 && premium.amount_minor < premiumCap),
    "premium.amount_minor",
    `Must be a whole number of cents, at least 1 and below ${premiumCap}.`
  ),
  ...rule(
    term_months === null || termsMonths.includes(term_months),
    "term_months",
    `Must be one of ${termsMonths.join(", ")}.`
  ),
  ...rule(fees.length <= maxList, "fees", `Must have at most ${maxList} fees.`),
  ...fees.slice(0, maxList).flatMap((fee, index) => amount(fee.amount, `fees.${index}.amount`))
]

const moment =
  /^\d{4}-\d{2}-\d{2}[T ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i

/** The moment that a text denotes; `None` if the text lacks a time or an offset and is therefore ambiguous. */
const momentOf = (text: string): Option.Option<number> =>
  moment.test(text) && isCalendarDay(text.slice(0, 10))
    ? Option.map(DateTime.make(text.replace(" ", "T")), DateTime.toEpochMillis)
    : Option.none()

const brokenEnd = ({ expires_at }: CarrierOffer, now: number): ReadonlyArray<BrokenRule> =>
  expires_at === null
    ? []
    : Option.match(momentOf(expires_at), {
        onNone: () => [{ path: "expires_at", message: noMoment }],
        onSome: (end) => rule(end > now, "expires_at", "Must be a time in the future.")
      })

const noMoment = "Must be a time with a UTC offset, such as 2027-01-31T23:59:59-05:00."

const brokenSubjects = (subjects: ReadonlyArray<CoveredSubject>, context: OfferContext): ReadonlyArray<BrokenRule> => {
  // Liability limits below the state's minimum cannot be sold, so such an offer must be a parsing mistake.
  const minimum: { readonly [fact: string]: number } = { ...context.line.stateLaw(context.state).liability_minimum }
  return subjects.slice(0, maxList).flatMap(({ coverages, subject_id }, index) => [
    ...rule(
      context.subject_ids.has(subject_id),
      `subjects.${index}.subject_id`,
      "Must be a subject of this application, such as vehicle-1, pet-1 or dwelling-1."
    ),
    ...coverages.slice(0, maxList).flatMap(({ code, deductible, limit }, nth) => {
      const path = `subjects.${index}.coverages.${nth}`
      const minimumUsd = minimum[`${code}_usd`]
      return [
        ...amount(deductible, `${path}.deductible`),
        ...amount(limit, `${path}.limit`),
        ...rule(
          limit === null || minimumUsd === undefined || limit.amount_minor >= minimumUsd * 100,
          `${path}.limit.amount_minor`,
          "Must be at least the state's minimum for this liability limit."
        )
      ]
    })
  ])
}

/** The rule that a link to a carrier breaks, if any. A null link breaks no rule. */
export const brokenHandoff = (
  url: unknown,
  hosts: ReadonlyArray<string>,
  path = "handoff_url"
): ReadonlyArray<BrokenRule> => [
  ...rule(typeof url !== "string" || url.length <= maxUrl, path, `Must have at most ${maxUrl} characters.`),
  ...rule(
    url === null ||
      (typeof url === "string" &&
        Result.match(HttpAddress.read(url), {
          onSuccess: ({ hostname, protocol }) => protocol === "https:" && hosts.includes(hostname),
          onFailure: () => false
        })),
    path,
    "Must be an https URL on one of the adapter's handoff_hosts, without a user name or password."
  )
]

/** The types of actions that only the service may add (api.md, Next actions). */
const ownActions: ReadonlySet<string> = new Set([
  "prepare_purchase",
  "open_hosted_checkout",
  "continue_on_carrier_site",
  "request_assistance",
  "read_status"
])
const maxActions = 10
const maxMembers = 20
const memberName = /^[a-z][a-z0-9_]{0,63}$/

const linkAtStart = /^(?:[a-z][a-z0-9+.-]*:\S|(?:javascript|vbscript|data|blob|file)\s*:|[/\\])/i
/** Matches URLs, Markdown links, and text that many programs turn into a link. */
const linkWithin = /:[/\\]|[/\\]{2}|\]\(|\bwww\./i

/** Whether a text could be followed as a link: it starts like a URL or a path, or contains a link. */
const isLink = (text: string): boolean => {
  // Browsers ignore control characters in URLs, and spaces before them.
  const opened = plain(text.replaceAll(/\p{Cc}/gu, "")).trimStart()
  return linkAtStart.test(opened) || linkWithin.test(opened)
}

const brokenActions = (
  actions: CarrierOffer["extra_actions"] = [],
  context: OfferContext
): ReadonlyArray<BrokenRule> => [
  ...rule(actions.length <= maxActions, "extra_actions", `Must have at most ${maxActions} actions.`),
  ...actions.slice(0, maxActions).flatMap((action, index) => {
    const path = `extra_actions.${index}`
    const names = Object.keys(action)
    return [
      ...rule(
        memberName.test(action.type) && (context.is_simulated === true || !ownActions.has(action.type)),
        `${path}.type`,
        "Must be a name such as call_agent, and not an action type that the service reserves."
      ),
      ...rule(
        names.length <= maxMembers && names.every((name) => memberName.test(name)),
        path,
        `Must have at most ${maxMembers} fields, with names such as phone_number.`
      ),
      ...names.slice(0, maxMembers).flatMap((name) => brokenMember(action[name], `${path}.${name}`, context))
    ]
  })
]

const brokenMember = (
  value: unknown,
  path: string,
  { handoff_hosts, secrets }: OfferContext
): ReadonlyArray<BrokenRule> => {
  // The path contains names that the carrier chose, so it is logged only if they look like ordinary names.
  const named = /^[\w.]+$/.test(path) ? path : "extra_actions"
  if (typeof value === "number") return rule(Math.abs(value) <= premiumCap, named, `Must be at most ${premiumCap}.`)
  // Stripping the markup from a text can turn the text into a link.
  if (typeof value !== "string" || !(isLink(value) || isLink(clean(value)))) return []
  return [
    ...brokenHandoff(value, handoff_hosts, named),
    ...rule(plain(value) === value, named, "Must have no hidden characters."),
    // This link must not contain a secret, because it is shown to callers. People reach `handoff_url` only through a
    // redirect.
    ...rule(!secrets.isIn(value), named, "Must not repeat a secret.")
  ]
}

/** Truncates a carrier's text, and removes markup and hidden characters (`wire/PlainText.ts`). */
export const clean = (text: string): string => {
  const cleanText = withoutMarkup(plain(text.slice(0, maxRead)))
  return cleanText.length <= maxText ? cleanText : cleanText.slice(0, maxText).replace(/[\ud800-\udbff]$/, "")
}

/**
 * Removes markup. No tag ends after the last `>`, so the search stops there; continuing the search would take quadratic
 * time.
 */
const withoutMarkup = (text: string): string => {
  const end = text.lastIndexOf(">") + 1
  return text.slice(0, end).replaceAll(/<[^>]*>/g, "") + text.slice(end)
}

/**
 * Makes a function that cleans text from a carrier that received these secrets. The function removes secrets last,
 * because markup and hidden characters can split them.
 */
export const cleanOf =
  (secrets: SecretFinder) =>
  (text: string): string =>
    secrets.without(clean(text))

/**
 * An offer whose text is clean and repeats no secret. Links stay as they are: they have already been checked, are for
 * machines, and may need a secret.
 */
const cleaned = (offer: CarrierOffer, secrets: SecretFinder): CarrierOffer => {
  const text = cleanOf(secrets)
  const textOrNull = (value: string | null): string | null => (value === null ? null : text(value))
  const scalar = <A>(value: A): A | string => (typeof value === "string" ? text(value) : value)
  const action = ({ type, ...members }: NextAction): NextAction => ({
    ...Record.map(members, (value) => (typeof value === "string" && isLink(value) ? value : scalar(value))),
    type
  })
  return {
    ...offer,
    offer_ref: secrets.without(offer.offer_ref),
    product: textOrNull(offer.product),
    billing_cycle: textOrNull(offer.billing_cycle),
    fees: offer.fees.map((fee) => ({ code: text(fee.code), amount: fee.amount })),
    conditions: offer.conditions.slice(0, maxList).map(text),
    evidence_label: text(offer.evidence_label),
    expires_at: Option.getOrNull(Option.map(Option.flatMap(Option.fromNullOr(offer.expires_at), momentOf), fromMillis)),
    subjects: offer.subjects.slice(0, maxList).map((subject) => ({
      subject_id: subject.subject_id,
      kind: text(subject.kind),
      label: textOrNull(subject.label),
      coverages: subject.coverages.slice(0, maxList).map((cover) => ({ ...cover, code: text(cover.code) }))
    })),
    assumptions: offer.assumptions.slice(0, maxList).map((assumption) => ({
      path: text(assumption.path),
      value: scalar(assumption.value),
      source: text(assumption.source),
      ...(assumption.label !== undefined && { label: text(assumption.label) })
    })),
    ...(offer.extra_actions !== undefined && { extra_actions: offer.extra_actions.map(action) }),
    ...(offer.reason !== undefined && { reason: text(offer.reason) })
  }
}
