import type { DeclineReason } from "../carriers/Carrier.ts"
import { addDays } from "../wire/CalendarDate.ts"

/*
 * The underwriting rules of the fictional carriers: what each of them does not insure, when no scenario is played.
 */

/** A rule: why the carrier does not insure this; null where the rule has nothing against it. */
export type Rule<Facts> = (facts: Facts, today: string) => DeclineReason | null

/** The rules of carriers by their ids. */
export type CarrierRules<Facts> = { readonly [carrier_id: string]: ReadonlyArray<Rule<Facts>> }

/** Makes a rule. */
export const rule =
  <Facts>(reason: DeclineReason, applies: (facts: Facts, today: string) => boolean): Rule<Facts> =>
  (facts, today) =>
    applies(facts, today) ? reason : null

const first_start_days = 1
const last_start_days = 60

/** Cover starts tomorrow at the earliest and in sixty days at the latest. */
export const startDate = rule<{ readonly effective_date: string }>(
  "start_date_out_of_range",
  ({ effective_date }, today) =>
    effective_date < addDays(today, first_start_days) || effective_date > addDays(today, last_start_days)
)

/** The reason of the first rule that is against a risk; null where none is. */
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
