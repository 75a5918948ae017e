import type { Decline } from "../carriers/Carrier.ts"
import { addDays } from "../wire/CalendarDay.ts"
import type { Condition, RatePlan, Rule } from "./PlanFormat.ts"
import { appliesIn, keyOf, valuesOf } from "./tableLookup.ts"
import type { Known, Risk } from "./Variable.ts"

/**
 * Applies a plan's underwriting rules. Returns the decline, or null if the rules accept the risk. `today` is the date
 * of the quote request.
 */
export const declineOf = (plan: RatePlan, risk: Risk, today: string): Decline | null => {
  if (!isServed(plan, risk)) return decline("state_not_served")
  if (!startsInTime(plan, risk, today)) return decline("start_date_out_of_range")
  const rule = plan.underwriting.find((candidate) => applies(candidate, risk, today))
  if (rule !== undefined) return decline(rule.reason, rule.message)
  return isOffered(plan, risk) ? null : decline("risk_outside_guidelines")
}

const decline = (reason: Decline["reason"], message?: string): Decline => ({
  kind: "declined",
  reason,
  ...(message !== undefined && { message })
})

const isServed = ({ states }: RatePlan, { state }: Risk): boolean => states.includes(state)

const startsInTime = ({ terms }: RatePlan, { effective_date }: Risk, today: string): boolean =>
  effective_date >= addDays(today, terms.first_start_days) && effective_date <= addDays(today, terms.last_start_days)

const applies = (rule: Rule, risk: Risk, today: string): boolean =>
  appliesIn(rule, risk.state) &&
  (rule.from === undefined || rule.from <= today) &&
  (rule.until === undefined || today <= rule.until) &&
  holds(rule.when ?? [], risk)

/** Whether at least one combination of a subject and a driver meets all conditions. */
export const holds = (conditions: ReadonlyArray<Condition>, risk: Risk): boolean => {
  const drivers = risk.drivers.length === 0 ? [risk.policy] : risk.drivers
  return risk.subjects.some(({ known }) =>
    drivers.some((driver) => conditions.every((condition) => isMet(condition, { ...driver, ...known })))
  )
}

const isMet = ({ above, below, by, is }: Condition, variables: Known): boolean =>
  valuesOf(variables, by).some(
    (value) =>
      (is === undefined || is.some((candidate) => keyOf(candidate) === keyOf(value))) &&
      (above === undefined || Number(value) > above) &&
      (below === undefined || Number(value) < below)
  )

/** Whether the carrier offers all coverages and choices in the application. */
const isOffered = ({ coverage }: RatePlan, risk: Risk): boolean =>
  Object.entries(coverage?.offered ?? {}).every(([name, offered]) => {
    const choices = offered.map(keyOf)
    return [...risk.subjects.map(({ known: variables }) => variables), ...risk.drivers].every((variables) =>
      valuesOf(variables, name).every((value) => choices.includes(keyOf(value)))
    )
  })
