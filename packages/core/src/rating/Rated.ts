import type { CoverageItem } from "../carriers/Carrier.ts"
import type { Assumption } from "../lines/Application.ts"
import { dollars } from "../wire/Money.ts"

/** The price of a risk and its covers, computed from a rate plan. Amounts in cents, for the whole term. */
export interface Rated {
  readonly premium: number
  readonly term_months: number
  readonly fees: ReadonlyArray<{ readonly code: string; readonly cents: number }>
  /** The covers of each vehicle, home or pet, in the order of the application. */
  readonly coverages: ReadonlyArray<ReadonlyArray<CoverageItem>>
  readonly conditions: ReadonlyArray<string>
  /** The values that the carrier itself filled in or replaced. */
  readonly assumptions: ReadonlyArray<Assumption>
}

/** The condition on every price that a fictional carrier may still change. */
export const subject_to_review = ["Price is subject to the carrier's review."]

/** A cover with a limit in whole US dollars. */
export const limited = (code: string, usd: number): CoverageItem => ({
  code,
  limit: dollars(usd),
  deductible: null,
  included: true
})

/** A cover with a deductible in whole US dollars and no limit of its own. */
export const deductible = (code: string, usd: number): CoverageItem => ({
  code,
  limit: null,
  deductible: dollars(usd),
  included: true
})

/** A cover that is only included or not, without limit and deductible. */
export const plain = (code: string, included: boolean): CoverageItem => ({
  code,
  limit: null,
  deductible: null,
  included
})

/** A cover with a limit and a deductible, in whole US dollars; null means no limit. */
export const limitedAbove = (code: string, limit_usd: number | null, deductible_usd: number): CoverageItem => ({
  code,
  limit: limit_usd === null ? null : dollars(limit_usd),
  deductible: dollars(deductible_usd),
  included: true
})
