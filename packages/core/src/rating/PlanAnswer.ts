import type { Decline } from "../carriers/Carrier.ts"
import type { RatedApplication } from "../lines/Line.ts"
import { highestAmount } from "./Amount.ts"
import type { RatePlan } from "./PlanFormat.ts"
import { type Note, type Premium, premiumOf } from "./Premium.ts"
import { type Ratings, ratings } from "./ratings.ts"
import { declineOf } from "./underwriting.ts"
import type { Risk } from "./Variable.ts"

/** A risk with its premium. */
export interface Priced {
  readonly kind: "priced"
  readonly risk: Risk
  readonly premium: Premium
}

/**
 * The risk that a plan rates for an application; null if the application is for another line. `today` is the date of
 * the quote request.
 */
export const riskOf = (
  plan: RatePlan,
  application: RatedApplication,
  today: string,
  knownRatings: Ratings = ratings
): Risk | null =>
  application.line === plan.line
    ? (knownRatings.get(plan.line)?.riskOf(application, plan.coverage ?? {}, today) ?? null)
    : null

/** Options for a price. */
interface Pricing {
  /** Called with each step of the calculation. */
  readonly note?: Note
  /** Ratings by line; by default the standard lines' ratings. */
  readonly known?: Ratings
}

/** The price that a plan gives a risk, regardless of its underwriting rules. */
export const priceOf = (plan: RatePlan, risk: Risk, { known: knownRatings = ratings, note }: Pricing = {}): Priced => {
  const hasFees = knownRatings.get(plan.line)?.line.premium_includes_fees ?? false
  return { kind: "priced", risk, premium: premiumOf(plan, risk, hasFees, note) }
}

/**
 * A plan's answer: a price, or why the carrier declines. The carrier declines if the premium is above the plan's
 * maximum.
 */
export const answerOf = (plan: RatePlan, risk: Risk, today: string, pricing?: Pricing): Priced | Decline => {
  const declined = declineOf(plan, risk, today)
  if (declined !== null) return declined
  const priced = priceOf(plan, risk, pricing)
  const highest = plan.maximum_cents ?? highestAmount - 1
  return priced.premium.cents <= highest ? priced : { kind: "declined", reason: "risk_outside_guidelines" }
}
