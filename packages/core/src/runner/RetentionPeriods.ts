import { Context } from "effect"

/** The retention periods, in days of workspace time unless a field says otherwise. */
export interface Periods {
  /** How long the event feed and the delivery log are kept (api.md, Retention periods). */
  readonly events_days: number
  /**
   * How long applicants' facts are kept, counted from the start of the request. Every request is final within two days
   * of its start.
   */
  readonly facts_days: number
  /** How long quote requests, their quotes and their request keys are kept. */
  readonly quotes_days: number
  /** How long the hashes of consent receipts are kept, and the consents that the service itself recorded. */
  readonly consents_days: number
  /** How long the request log is kept, in days of real time (api.md, Retention periods). */
  readonly requests_days: number
  /** How long reports about the API are kept. */
  readonly feedback_days: number
  /**
   * How long the contents of exchanges with carriers are kept. The contents are erased with the request's facts at the
   * latest.
   */
  readonly exchanges_days: number
}

/**
 * The retention periods. The defaults are 30 days for events and the request log, 32 days for facts, 13 months for
 * quotes and feedback, 5 years for consents, and a week for exchanges with carriers.
 */
export const RetentionPeriods = Context.Reference<Periods>("@quotewire/core/RetentionPeriods", {
  defaultValue: () => ({
    events_days: 30,
    facts_days: 32,
    quotes_days: 395,
    consents_days: 1_826,
    requests_days: 30,
    feedback_days: 395,
    exchanges_days: 7
  })
})
