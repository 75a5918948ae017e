import type { DeclineReason } from "../carriers/Carrier.ts"
import { addDays } from "../wire/Timestamp.ts"

/*
 * The underwriting rules of the fictional carriers: which risks each of them declines when no scenario is played.
 */

/** A rule: why the carrier declines a risk; null if this rule accepts it. */
export type Rule<Facts> = (facts: Facts, today: string) => DeclineReason | null

/** The rules of the carriers, by carrier id. */
export type CarrierRules<Facts> = { readonly [carrier_id: string]: ReadonlyArray<Rule<Facts>> }

/** Makes a rule from a reason and a condition. */
export const rule =
  <Facts>(reason: DeclineReason, applies: (facts: Facts, today: string) => boolean): Rule<Facts> =>
  (facts, today) =>
    applies(facts, today) ? reason : null

const first_start_days = 1
const last_start_days = 60

/** The start date must be from tomorrow to sixty days ahead. */
export const startDate = rule<{ readonly effective_date: string }>(
  "start_date_out_of_range",
  ({ effective_date }, today) =>
    effective_date < addDays(today, first_start_days) || effective_date > addDays(today, last_start_days)
)

/** The reason of the first rule that declines a risk; null if none does. */
export const firstReason = <Facts>(
  rules: ReadonlyArray<Rule<Facts>>,
  facts: Facts,
  today: string
): DeclineReason | null => {
  for (const applies of rules) {
    const reason = applies(facts, today)
    if (reason !== null) return reason
  }
  return null
}
