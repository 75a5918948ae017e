/** The resources of api.md under their names: what operations take and answer, as schemas and types. */

export { ListedRequest, RequestLogEntry, RequestLogPage } from "./calls/FinishedCall.ts"
export { EventPage } from "./events/EventPage.ts"
export { FeedbackReport } from "./feedback/FeedbackReport.ts"
export { Capabilities, CapabilitiesAnswer } from "./quoting/Capabilities.ts"
export { Quote } from "./quoting/Quote.ts"
export { QuoteRequest } from "./quoting/QuoteRequest.ts"
export { CancelResult, QuoteRequestPage, QuoteRequestWithQuotes } from "./quoting/QuoteRequestViews.ts"
export { StartedQuoteRequest, StartInput } from "./quoting/Start.ts"
export { ControlResult, SandboxWorkspace, ScenarioList } from "./sandbox/SandboxViews.ts"
export { Delivery, DeliveryEntry } from "./webhooks/deliveries/Delivery.ts"
export { SubscriptionHealth } from "./webhooks/deliveries/EndpointHealth.ts"
export { EventSubscription } from "./webhooks/subscriptions/EventSubscription.ts"
export {
  DeliveryPage,
  ReplayResult,
  SubscriptionPage,
  TestEvent,
  TestResult
} from "./webhooks/subscriptions/SubscriptionViews.ts"
