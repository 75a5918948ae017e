import type { AnyOperation } from "@quotewire/core/client"

/** The API revision that the client's types describe. */
export const revision = "2026-09-26"

/** How an operation is called over HTTP. */
export interface ClientRoute {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE"
  /**
   * The path, in which `{name}` stands for an input field. The other fields go into the query of a GET or DELETE
   * request, or into the body of any other request.
   */
  readonly path: string
  /**
   * Whether a failed call may be retried. `always`: repeating it is harmless. `with_key`: the host recognizes a retry
   * by its `Idempotency-Key`. `never`: only if the host refused the call before executing it.
   */
  readonly retry: "always" | "with_key" | "never"
  /** How much longer than other calls this call may take by contract, in milliseconds. Added to `timeout_ms`. */
  readonly takes_ms?: number
}

const read = (path: string, takes_ms = 0): ClientRoute => ({ method: "GET", path, retry: "always", takes_ms })
const command = (path: string, takes_ms = 0): ClientRoute => ({ method: "POST", path, retry: "with_key", takes_ms })

const longPollMs = 20_000
const testMs = 35_000
/** How long advancing the sandbox's clock may take, because all work that becomes due runs before the response. */
const controlMs = 120_000

/** The route of each operation. */
export const routes: { readonly [Name in AnyOperation["name"]]: ClientRoute } = {
  get_capabilities: read("/v1/capabilities"),
  // The host recognizes a retry by its request_key.
  start_quote_request: { method: "POST", path: "/v1/quote-requests", retry: "always" },
  get_quote_request: read("/v1/quote-requests/{id}", longPollMs),
  get_quote_request_timeline: read("/v1/quote-requests/{id}/timeline"),
  list_quote_requests: read("/v1/quote-requests"),
  cancel_quote_request: { method: "POST", path: "/v1/quote-requests/{id}/cancel", retry: "always" },
  // A retry creates a second link. That is harmless, because every link expires.
  create_partner_link: { method: "POST", path: "/v1/partner-links", retry: "always" },
  get_quote: read("/v1/quotes/{id}"),
  preview_revisions: read("/v1/quotes/{id}/revisions"),
  list_events: read("/v1/events"),
  create_event_subscription: command("/v1/event-subscriptions"),
  list_event_subscriptions: read("/v1/event-subscriptions"),
  update_event_subscription: { method: "PATCH", path: "/v1/event-subscriptions/{id}", retry: "always" },
  disable_event_subscription: { method: "DELETE", path: "/v1/event-subscriptions/{id}", retry: "always" },
  rotate_event_subscription_secret: command("/v1/event-subscriptions/{id}/rotate"),
  send_test_event: command("/v1/event-subscriptions/{id}/test", testMs),
  list_event_deliveries: read("/v1/event-subscriptions/{id}/deliveries"),
  get_event_delivery: read("/v1/event-subscriptions/{id}/deliveries/{event_id}"),
  replay_event_delivery: command("/v1/event-subscriptions/{id}/replay"),
  get_event_subscription_health: read("/v1/event-subscriptions/{id}/health"),
  preview_event_recovery: { method: "POST", path: "/v1/event-subscriptions/{id}/recoveries/preview", retry: "always" },
  start_event_recovery: command("/v1/event-subscriptions/{id}/recoveries"),
  list_event_recoveries: read("/v1/event-subscriptions/{id}/recoveries"),
  change_event_recovery: {
    method: "POST",
    path: "/v1/event-subscriptions/{id}/recoveries/{recovery_id}/{action}",
    retry: "always"
  },
  list_api_requests: read("/v1/requests"),
  get_api_request: read("/v1/requests/{id}"),
  // A retry could create a second report.
  send_feedback: { method: "POST", path: "/v1/feedback", retry: "never" },
  get_feedback: read("/v1/feedback/{id}"),
  get_sandbox: read("/v1/sandbox"),
  list_sandbox_scenarios: read("/v1/sandbox/scenarios"),
  select_scenario: command("/v1/sandbox/scenarios"),
  advance_time: command("/v1/sandbox/time", controlMs),
  force_expiry: command("/v1/sandbox/expiry", controlMs),
  replay_events: command("/v1/sandbox/replays", controlMs),
  reset_sandbox: command("/v1/sandbox/reset", controlMs)
}
