import { Context } from "effect"

/** How long records are kept, in days of workspace time unless a field says otherwise. */
export interface Periods {
  /** The event feed and the delivery log (api.md, Retention periods). */
  readonly events_days: number
  /** Applicants' facts, counted from the start of the request. Every request is final within two days of its start. */
  readonly facts_days: number
  /** Quote requests with their quotes, and the keys that started them. */
  readonly quotes_days: number
  /** The hashes of consent receipts, and the consents that the service itself recorded. */
  readonly consents_days: number
  /** The request log, in days of real time (api.md, Retention periods). */
  readonly requests_days: number
  /** Reports about the API. */
  readonly feedback_days: number
  /** The contents of exchanges with carriers. They are kept at most as long as the facts of their request. */
  readonly exchanges_days: number
}

/**
 * The retention periods. By default 30 days for events, requests and facts, 13 months for quotes, 5 years for consents,
 * a week for exchanges with carriers.
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
