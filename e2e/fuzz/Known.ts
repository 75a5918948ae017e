import { lineNames } from "@quotewire/core"
import { ExampleApplications } from "@quotewire/core/testing"
import fc from "fast-check"

/** What the document alone does not say about a valid call: what exists, and what belongs together. */
export interface Known {
  /** The value for `{id}`. */
  readonly id?: string
  /** The key to call with: `server`, or that of an organization whose sandbox may be modified freely. */
  readonly key: "server" | "scratch"
  /** Values of single fields. */
  readonly fields?: Readonly<Record<string, fc.Arbitrary<unknown>>>
  /** The whole body, if its fields depend on one another. */
  readonly body?: fc.Arbitrary<object>
  /** Additional valid statuses: limits and conflicts that earlier calls cause. */
  readonly besides: ReadonlyArray<number>
}

const ids: Readonly<Record<string, string>> = {
  "/v1/quote-requests": "@@request@@",
  "/v1/quotes": "@@quote@@",
  "/v1/event-subscriptions": "@@subscription@@",
  "/v1/requests": "@@call@@",
  "/v1/feedback": "@@report@@"
}

const started = fc.constantFrom(...lineNames).chain((line) =>
  fc.record({
    line: fc.constant(line),
    request_key: fc.constant("@@unique@@"),
    consent_receipt_id: fc.constantFrom("receipt-0001", "A".repeat(128)),
    application: fc.constant(ExampleApplications.smallest[line])
  })
)

const events = fc.uniqueArray(
  fc.constantFrom("quote.created", "quote.expired", "quote_request.completed", "purchase.failed"),
  { minLength: 1 }
)
const subscription = {
  url: fc.constantFrom("https://hooks.example.com/in", "https://hooks.example.com:8443/?a=b"),
  event_types: events
}
const words = fc.array(fc.constantFrom("a quote", "the price", "is null", "東京", "🦆"), { minLength: 1, maxLength: 9 })
const sentence = words.map((all) => all.join(" "))

const special: Readonly<Record<string, Partial<Known>>> = {
  start_quote_request: { body: started },
  get_quote: { fields: { version: fc.constant(1) } },
  create_event_subscription: { fields: subscription, besides: [409] },
  // An update must set at least one field.
  update_event_subscription: { body: fc.record(subscription, { requiredKeys: ["url"] }) },
  disable_event_subscription: { id: "@@disabled@@" },
  rotate_event_subscription_secret: { besides: [409] },
  send_test_event: { besides: [429] },
  create_partner_link: { fields: { shared_id: fc.constantFrom("@@request@@", "@@subscription@@") } },
  // A subscription has one recovery at a time, and one that has ended cannot be stopped.
  start_event_recovery: { besides: [409] },
  change_event_recovery: { besides: [409] },
  replay_event_delivery: { fields: { event_id: fc.constant("@@event@@") }, besides: [429] },
  send_feedback: {
    body: fc.record(
      {
        kind: fc.constantFrom("missing_feature", "bug", "unclear_error", "unclear_docs", "other"),
        summary: sentence,
        expected: sentence,
        actual: sentence,
        agent: fc.record({ name: sentence, version: fc.constant("1.0") })
      },
      { requiredKeys: ["kind", "summary", "expected", "actual"] }
    )
  },
  advance_time: { key: "scratch", fields: { seconds: fc.integer({ min: 1, max: 3_600 }) } },
  select_scenario: { key: "scratch" },
  force_expiry: { key: "scratch" },
  replay_events: { key: "scratch" },
  reset_sandbox: { key: "scratch" }
}

/** What is known about an operation. */
export const known = (operation: string, path: string): Known => {
  const id = ids[path.split("/").slice(0, 3).join("/")]
  return { ...(id === undefined ? {} : { id }), key: "server", besides: [], ...special[operation] }
}
