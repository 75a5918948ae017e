import type { CoverageItem } from "../carriers/Carrier.ts"
import { dollars } from "../wire/Money.ts"

/* Makes the coverage items of offers. */

/** A coverage with a limit in whole US dollars. */
export const limited = (code: string, usd: number): CoverageItem => ({
  code,
  limit: dollars(usd),
  deductible: null,
  included: true
})

/** A coverage with a deductible in whole US dollars and without a limit. */
export const deductible = (code: string, usd: number): CoverageItem => ({
  code,
  limit: null,
  deductible: dollars(usd),
  included: true
})

/** A coverage that is either included or not, without limit and deductible. */
export const plain = (code: string, isIncluded: boolean): CoverageItem => ({
  code,
  limit: null,
  deductible: null,
  included: isIncluded
})

/** A coverage with a limit and a deductible in whole US dollars. A null limit means that there is no limit. */
export const limitedAbove = (code: string, limitUsd: number | null, deductibleUsd: number): CoverageItem => ({
  code,
  limit: limitUsd === null ? null : dollars(limitUsd),
  deductible: dollars(deductibleUsd),
  included: true
})
