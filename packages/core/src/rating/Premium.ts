import { mul, neutral, ofMonths, type Rounding, tenThousandths } from "./Amount.ts"
import type { Factor, Fee, RatePlan, TableFactor } from "./PlanFormat.ts"
import { appliesIn, lookUp, valuesOf } from "./tableLookup.ts"
import { holds } from "./underwriting.ts"
import type { Known, RatedSubject, Risk } from "./Variable.ts"

/**
 * An intermediate amount of a premium in cents, and its name, such as `vehicle-1.collision.driver_age`,
 * `dwelling-1.total` or `term`.
 */
export interface PremiumStep {
  readonly step: string
  readonly cents: number
}

/** Records a step of the calculation. */
export type Note = (step: string, cents: number) => void

/** A premium and its fees for the whole term, in cents. */
export interface Premium {
  readonly cents: number
  readonly fees: ReadonlyArray<{ readonly code: string; readonly cents: number }>
}

const silent: Note = () => {}

/**
 * The premium that a plan gives a risk, regardless of the underwriting rules.
 *
 * For each coverage of each subject, the base rate is multiplied by the factors in their order, and the amount is
 * rounded after each factor. Then come, in this order: the additions, the minimum for each subject, the sum of all
 * subjects, the factor for paying in full, the term, the minimum for the policy and, if the line's premiums include
 * fees, the fees.
 */
export const premiumOf = (plan: RatePlan, risk: Risk, hasFees: boolean, note: Note = silent): Premium => {
  const { minimum_cents, terms } = plan
  const step = (name: string, cents: number): number => {
    note(name, cents)
    return cents
  }
  const year = step("sum", sumOf(risk.subjects.map((subject) => subjectPrice(plan, risk, subject, note))))
  const paid =
    risk.billing_preference === "pay_in_full" && terms.pay_in_full_factor !== undefined
      ? step("pay_in_full", mul(year, tenThousandths(terms.pay_in_full_factor), plan.rounding))
      : year
  const term = step("term", ofMonths(paid, terms.months, plan.rounding))
  const raised = step("minimum", Math.max(minimum_cents, term))
  const fees = feesOf(plan.fees ?? [], risk)
  return { cents: hasFees ? step("fees", raised + sumOf(fees.map(({ cents }) => cents))) : raised, fees }
}

const sumOf = (amounts: ReadonlyArray<number>): number => amounts.reduce((sum, amount) => sum + amount, 0)

/**
 * A factor as it applies to one subject, in ten-thousandths. It has no values if it does not apply, and several values
 * if its variable is a list.
 */
interface Applied {
  readonly name: string
  readonly covers: ReadonlyArray<string> | undefined
  readonly factors: ReadonlyArray<number>
}

/** The price for one subject and twelve months. */
const subjectPrice = (plan: RatePlan, risk: Risk, rated: RatedSubject, note: Note): number => {
  const { known, subject } = rated
  const applied = plan.factors
    .filter((factor) => appliesIn(factor, risk.state))
    .map((factor): Applied => {
      return { name: factor.name, covers: factor.covers, factors: factorsOf(factor, known, risk) }
    })
  const amounts = rated.covers.map((cover) => {
    const path = `${subject.subject_id}.${cover}`
    let cents = baseOf(plan, cover, known)
    note(`${path}.base`, cents)
    for (const { covers, factors, name } of applied) {
      if (covers !== undefined && !covers.includes(cover)) continue
      cents = mulAll(cents, factors, plan.rounding)
      note(`${path}.${name}`, cents)
    }
    return cents
  })
  const additions = (plan.additions_cents ?? [])
    .filter((addition) => appliesIn(addition, risk.state))
    .map((addition) => {
      const cents = sumOf(lookUp(addition, known, 1))
      note(`${subject.subject_id}.${addition.name}`, cents)
      return cents
    })
  const total = Math.max(plan.minimum_each_cents ?? 0, sumOf(amounts) + sumOf(additions))
  note(`${subject.subject_id}.total`, total)
  return total
}

const baseOf = (plan: RatePlan, cover: string, variables: Known): number => {
  const base = plan.base_cents[cover]
  return base === undefined ? 0 : (base.cents ?? sumOf(lookUp(base, variables, 1)))
}

const mulAll = (cents: number, factors: ReadonlyArray<number>, rounding: Rounding): number =>
  factors.reduce((amount, factor) => mul(amount, factor, rounding), cents)

const constantOrTable = (factor: TableFactor, variables: Known): ReadonlyArray<number> =>
  factor.factor === undefined ? lookUp(factor, variables, neutral) : [tenThousandths(factor.factor)]

const factorsOf = (factor: Factor, variables: Known, risk: Risk): ReadonlyArray<number> => {
  const mean = factor.mean_of_drivers
  if (mean === undefined) return constantOrTable(factor, variables)
  const highest = mean.at_most === undefined ? Number.POSITIVE_INFINITY : tenThousandths(mean.at_most)
  const applying = mean.factors.filter((candidate) => appliesIn(candidate, risk.state))
  const each = risk.drivers.map((driver) =>
    // A product of factors is rounded to ten-thousandths, just as an amount is rounded to cents.
    Math.min(
      highest,
      mulAll(
        neutral,
        applying.flatMap((driverFactor) => constantOrTable(driverFactor, driver)),
        "cent"
      )
    )
  )
  const count = each.length
  return count === 0 ? [] : [Math.floor((2 * sumOf(each) + count) / (2 * count))]
}

const feesOf = (fees: ReadonlyArray<Fee>, risk: Risk): Premium["fees"] =>
  fees.flatMap((fee) => {
    if (!appliesIn(fee, risk.state) || !holds(fee.when ?? [], risk)) return []
    const times = fee.times === undefined ? 1 : valuesOf(risk.policy, fee.times)[0]
    const cents = typeof times === "number" ? times * fee.cents : 0
    return cents === 0 ? [] : [{ code: fee.code, cents }]
  })
