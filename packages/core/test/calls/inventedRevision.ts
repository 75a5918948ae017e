import type { Difference, Fields, Revision, Served } from "../../src/calls/Revision.ts"
import { renamed, renamedInput } from "../../src/calls/Revision.ts"

const olderQuote = renamed("proof", "evidence")

const withQuotes = (answer: Fields): Fields => ({
  ...answer,
  quotes: Array.isArray(answer.quotes) ? answer.quotes.map(olderQuote) : answer.quotes
})

/** The changes in an invented revision: fields of quotes, of subscriptions, of an input, and of events. */
export const invented: Difference = {
  summary:
    "A quote's evidence was its proof, a signing secret a secret, a consent's receipt a paper, an event's line its product.",
  inputs: { start_quote_request: renamedInput("paper", "consent_receipt_id") },
  answers: {
    get_quote: olderQuote,
    get_quote_request: withQuotes,
    create_event_subscription: renamed("secret", "signing_secret")
  },
  event: renamed("product", "line")
}

/** The first revision as the older of two. */
export const older = "2026-09-26"
/** An invented, newer revision. */
export const newer = "2027-01-15"

/** The older revision, as described by a release that knows the newer form. */
export const olderRevision: Revision = { date: older, differences: [invented] }

/** Two served revisions: the form of this release under a newer date, and an older one. */
export const two: Served = [{ date: newer, differences: [] }, olderRevision]
