import type { RatedApplication } from "../../src/lines/Line.ts"
import { fictionalPlans } from "../../src/rating/fictionalPlans.ts"
import { answerOf, priceOf, riskOf } from "../../src/rating/PlanAnswer.ts"
import type { RatePlan } from "../../src/rating/RatePlan.ts"
import type { Risk } from "../../src/rating/Variable.ts"

/** The plans of the fictional carriers of a line, by carrier. */
export const plansOf = (line: string): ReadonlyMap<string, RatePlan> =>
  new Map(
    fictionalPlans()
      .filter((plan) => plan.line === line)
      .map((plan) => [plan.carrier.id, plan])
  )

export const planOf = (carrierId: string, line: string): RatePlan => {
  const plan = plansOf(line).get(carrierId)
  if (plan === undefined) throw new Error(`${carrierId} has no plan for ${line}`)
  return plan
}

const riskBy = (plan: RatePlan, application: RatedApplication, today: string): Risk => {
  const risk = riskOf(plan, application, today)
  if (risk === null) throw new Error(`${plan.line} is another line than ${application.line}`)
  return risk
}

/** The price of an application by a plan, ignoring its underwriting rules. */
export const priced = (plan: RatePlan, application: RatedApplication, today: string) => {
  const { premium, risk } = priceOf(plan, riskBy(plan, application, today))
  return {
    premium: premium.cents,
    term_months: plan.terms.months,
    coverages: risk.subjects.map(({ coverages }) => coverages),
    assumptions: risk.assumptions
  }
}

/** Why a plan declines an application; null if it prices it. */
export const declined = (plan: RatePlan, application: RatedApplication, today: string): string | null => {
  const answer = answerOf(plan, riskBy(plan, application, today), today)
  return answer.kind === "declined" ? answer.reason : null
}
