import type { AnswerOf } from "@quotewire/http/client"

/** A scenario that a sandbox can play. */
export type Scenario = AnswerOf<"list_sandbox_scenarios">["scenarios"][number]

/** The outcomes in the order in which they are listed, and the scenarios that lead to each outcome. */
const outcomes: ReadonlyArray<readonly [outcome: string, names: ReadonlyArray<string>]> = [
  ["Quotes", ["quotes_ready", "single_quote", "some_carriers_silent", "slow_quotes", "waits_in_queue", "late_answer"]],
  ["Unusual quotes", ["action_required", "credit_disclosure", "expiry_unknown", "price_unknown", "unknown_values"]],
  ["Quotes that change", ["price_update", "quote_withdrawn", "quote_expires_soon"]],
  ["No quotes", ["zero_quotes", "incomplete_no_quotes", "all_carriers_silent", "all_carriers_error", "cannot_start"]],
  ["Refused starts", ["needs_information", "consent_refused", "rate_limited", "service_unavailable", "internal_error"]]
]

/** The outcome for scenarios that only a newer host knows. It is listed last. */
const unknownOutcome = "Other"

const outcomeOf = ({ name }: Scenario): string =>
  outcomes.find(([, names]) => names.includes(name))?.[0] ?? unknownOutcome

const rowOf = ({ description, lines, name }: Scenario): string =>
  `  ${name.padEnd(22)}${description} (${lines.join(", ")})`

/** Formats scenarios as rows of text, grouped by outcome. */
export const rows = (scenarios: ReadonlyArray<Scenario>): ReadonlyArray<string> => {
  const byOutcome = Map.groupBy(scenarios, outcomeOf)
  return [...outcomes.map(([outcome]) => outcome), unknownOutcome].flatMap((outcome) => {
    const withOutcome = byOutcome.get(outcome)
    return withOutcome === undefined ? [] : [outcome, ...withOutcome.map(rowOf)]
  })
}
