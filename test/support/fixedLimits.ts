/** A limit of the contract: its row on the page, and the declaration that sets it. */
export interface FixedLimit {
  readonly limit: string
  readonly value: string
  readonly path: string
  /** A part of the file. Whoever changes it must change the page. */
  readonly declaration: string
}

const core = "packages/core/src"
const row = (limit: string, value: string, path: string, declaration: string): FixedLimit => ({
  limit,
  value,
  path,
  declaration
})

/** Every row of "Fixed limits" on the page of the contract. */
export const fixedLimits: ReadonlyArray<FixedLimit> = [
  row("body of a request", "256 KiB", "packages/http/src/host/Body.ts", "maxBytes = 256 * 1024"),
  row("page of a list", "1 to 100, 10 by default", `${core}/wire/Pagination.ts`, "wholeNumber(1, 100)"),
  row(
    "wait of a read",
    "0 to 20 seconds, 20 by default",
    `${core}/quoting/QuoteRequestViews.ts`,
    "maxWaitSeconds = 20\n"
  ),
  row("active subscriptions of a workspace", "10", `${core}/webhooks/records/EventSubscription.ts`, "maxActive = 10\n"),
  row(
    "`url` of a subscription",
    "2,048 characters",
    `${core}/webhooks/subscriptions/SubscriptionViews.ts`,
    "textUpTo(2_048)"
  ),
  row("tests of a subscription", "10 a minute", `${core}/webhooks/deliveries/TestEvents.ts`, "maxTests = 10\n"),
  row(
    "replays of an event to a subscription",
    "5 in 24 hours",
    `${core}/webhooks/records/Delivery.ts`,
    "maxReplays = 5\n"
  ),
  row(
    "secrets of a subscription that sign at once",
    "10",
    `${core}/webhooks/records/EventSubscription.ts`,
    "maxSecrets = 10\n"
  ),
  row(
    "unfinished subscription or rotation",
    "10 minutes",
    `${core}/webhooks/records/EventSubscription.ts`,
    "unfinishedMs = 10 * minuteMs"
  ),
  row("overlap of secrets", "24 hours", `${core}/webhooks/records/EventSubscription.ts`, "overlapMs = dayMs"),
  row("confirmation of a delivery", "15 seconds", `${core}/webhooks/WebhookSender.ts`, "defaultDeadlineMs = 15_000"),
  row(
    "attempts of a delivery",
    "8",
    `${core}/webhooks/records/Delivery.ts`,
    "[\n  5 * secondMs,\n  5 * minuteMs,\n  30 * minuteMs,\n  2 * hourMs,\n  5 * hourMs,\n  10 * hourMs,\n  10 * hourMs\n]"
  ),
  row("attempts shown of a delivery", "20", `${core}/webhooks/records/Delivery.ts`, "maxAttemptsShown = 20\n"),
  row("failures until the shut-off", "5 days", `${core}/webhooks/records/Delivery.ts`, "shutOffAfterMs = 5 * dayMs"),
  row("tolerance of `webhook-timestamp`", "5 minutes", `${core}/webhooks/Signature.ts`, "toleranceSeconds = 300\n"),
  row(
    "attempts to one subscription at a time",
    "16",
    `${core}/webhooks/records/Delivery.ts`,
    [
      'fresh: { name: "fresh", limit: 8, urgent: true },',
      'retries: { name: "retries", limit: 4, urgent: false },',
      'trials: { name: "trials", limit: 2, urgent: true },',
      'one_by_one: { name: "one by one", limit: 1, urgent: false },',
      'replays: { name: "replays", limit: 1, urgent: false }'
    ].join("\n  ")
  ),
  row("`Idempotency-Key`", "255 characters", `${core}/calls/IdempotentCalls.ts`, "{1,255}"),
  row("`request_key`", "200 characters", `${core}/quoting/Start.ts`, "{1,200}"),
  row("read handle", "24 hours", `${core}/access/ReadHandle.ts`, "lifetimeMs = dayMs"),
  row(
    "partner link",
    "1 to 30 days, 7 by default",
    `${core}/partners/PartnerLinkOperations.ts`,
    "maxDays = 30\nconst defaultDays = 7\n"
  ),
  row("unanswered question of a carrier", "24 hours", `${core}/quoting/asking/ReplyRules.ts`, "actionMs = dayMs"),
  row("offers of a carrier for a request", "10", `${core}/quoting/asking/ReplyRules.ts`, "maxOffers = 10\n"),
  row("advance of a sandbox's clock", "31,536,000 seconds", `${core}/operations.ts`, "wholeNumber(1, 31_536_000)"),
  row("events of a sandbox replay", "1,000", `${core}/webhooks/deliveries/EventReplay.ts`, "maxReplayed = 1_000\n"),
  row("fields in `field_errors`", "100", `${core}/wire/FieldError.ts`, "maxListed = 100\n"),
  row("nesting of an input", "32 levels", `${core}/wire/Storable.ts`, "maxDepth = 32\n"),
  row(
    "`user_agent` in the request log",
    "200 characters",
    `${core}/calls/FinishedCall.ts`,
    "maxTextCharacters = 200\n"
  ),
  row(
    "feedback `summary`; `expected` and `actual`",
    "200; 2,000 characters each",
    `${core}/feedback/FeedbackReport.ts`,
    "maxAccountCharacters = 2_000\n"
  ),
  row("`request_ids` of a report", "20", `${core}/feedback/FeedbackReport.ts`, "isMaxLength(20")
]
