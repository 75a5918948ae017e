import type { Difference, Fields, Revision, Served } from "../../src/calls/Revision.ts"
import { renamed, renamedInput } from "../../src/calls/Revision.ts"

const olderQuote = renamed("proof", "evidence")

const withQuotes = (answer: Fields): Fields => ({
  ...answer,
  quotes: Array.isArray(answer.quotes) ? answer.quotes.map(olderQuote) : answer.quotes
})

/** What an invented revision has changed: fields of quotes, of subscriptions, of an input, and of events. */
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
/** A newer revision, which is invented. */
export const newer = "2027-01-15"

/** The older one, as a release tells it that knows the newer form. */
export const olderRevision: Revision = { date: older, differences: [invented] }

/** Two revisions that are served at once: the form of this release, under a newer date, and an older one. */
export const two: Served = [{ date: newer, differences: [] }, olderRevision]
