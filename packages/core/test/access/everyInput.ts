import type { operations } from "../../src/operations.ts"
import { url } from "../webhooks/support.ts"

/** A well-formed input for every operation. Names in braces stand for existing resources. */
export const everyInput: { readonly [N in (typeof operations)[number]["name"]]: object } = {
  get_capabilities: { line: "pet" },
  start_quote_request: {},
  get_quote_request: { id: "{id}", wait_seconds: 0 },
  list_quote_requests: {},
  cancel_quote_request: { id: "{id}" },
  get_quote: { id: "{quote}" },
  preview_revisions: { id: "{quote}" },
  list_events: {},
  create_event_subscription: { url, event_types: ["quote.created"] },
  list_event_subscriptions: {},
  update_event_subscription: { id: "{subscription}", url },
  disable_event_subscription: { id: "{other}" },
  rotate_event_subscription_secret: { id: "{subscription}" },
  send_test_event: { id: "{subscription}" },
  list_event_deliveries: { id: "{subscription}" },
  get_event_delivery: { id: "{subscription}", event_id: "{event}" },
  replay_event_delivery: { id: "{subscription}", event_id: "{event}" },
  get_event_subscription_health: { id: "{subscription}" },
  preview_event_recovery: { id: "{subscription}" },
  start_event_recovery: { id: "{subscription}" },
  list_event_recoveries: { id: "{subscription}" },
  change_event_recovery: { id: "{other}", recovery_id: "{recovery}", action: "stop" },
  list_api_requests: {},
  get_api_request: { id: "{request}" },
  send_feedback: { kind: "bug", summary: "It is slow", expected: "", actual: "" },
  get_feedback: { id: "{report}" },
  get_sandbox: {},
  list_sandbox_scenarios: {},
  select_scenario: { scenario: "quotes_ready" },
  advance_time: { seconds: 1 },
  force_expiry: {},
  replay_events: {},
  reset_sandbox: {}
}
