import { Schema } from "effect"
import { Environment } from "../../access/Caller.ts"
import { SubscriptionId, TestEventId } from "../../wire/Ids.ts"
import { textUpTo } from "../../wire/Input.ts"
import { pageFields } from "../../wire/Page.ts"
import { Timestamp } from "../../wire/Timestamp.ts"
import { DeliveryEntry } from "../deliveries/Delivery.ts"
import { EventSubscription } from "./EventSubscription.ts"

const Url = textUpTo(2_048).annotate({ description: "Public https address" })
const EventTypes = Schema.Array(Schema.String).check(Schema.isMaxLength(50))

/** What a new subscription is to receive, and where. */
export const CreateInput = Schema.Struct({ url: Url, event_types: EventTypes })
export type CreateInput = typeof CreateInput.Type

const nothingToChange = ["url", "event_types"].map((field) => ({
  path: [field],
  issue: "Send url, event_types or both: there is nothing to change"
}))

/** What of a subscription is to change: something. */
export const UpdateInput = Schema.Struct({
  id: Schema.String,
  url: Schema.optionalKey(Url),
  event_types: Schema.optionalKey(EventTypes)
}).check(
  Schema.makeFilter(
    ({ url, event_types }) => (url === undefined && event_types === undefined ? nothingToChange : undefined),
    // The identifier is the other one.
    { toJsonSchema: () => ({ minProperties: 2 }) }
  )
)
export type UpdateInput = typeof UpdateInput.Type

/** Names one subscription. */
export const IdInput = Schema.Struct({ id: Schema.String.annotateKey({ description: "The subscription, `sub_…`" }) })

/** Which page of subscriptions to read. */
export const ListInput = Schema.Struct(pageFields)
export type ListInput = typeof ListInput.Type

/** A page of subscriptions, newest first. */
export const SubscriptionPage = Schema.Struct({
  event_subscriptions: Schema.Array(EventSubscription),
  next_cursor: Schema.NullOr(Schema.String)
})
export type SubscriptionPage = typeof SubscriptionPage.Type

/** Which page of a subscription's delivery log to read. */
export const DeliveriesInput = Schema.Struct({ id: Schema.String, ...pageFields })
export type DeliveriesInput = typeof DeliveriesInput.Type

/** A page of the delivery log, newest first. It can be empty and yet name a next one. */
export const DeliveryPage = Schema.Struct({
  deliveries: Schema.Array(DeliveryEntry),
  next_cursor: Schema.NullOr(Schema.String)
})
export type DeliveryPage = typeof DeliveryPage.Type

/** Names one delivery: an event in the log of a subscription. */
export const DeliveryInput = Schema.Struct({ id: Schema.String, event_id: Schema.String })
export type DeliveryInput = typeof DeliveryInput.Type

/** A test event: it names no resource, and goes to one subscription only (api.md, Test event). */
export const TestEvent = Schema.Struct({
  id: TestEventId,
  type: Schema.Literal("webhook.test"),
  schema_version: Schema.String,
  occurred_at: Timestamp,
  environment: Environment,
  subscription_id: SubscriptionId
}).annotate({ identifier: "TestEvent" })
export type TestEvent = typeof TestEvent.Type

/** What a test has handed to delivery. */
export const TestResult = Schema.Struct({ subscription_id: SubscriptionId, event: TestEvent })
export type TestResult = typeof TestResult.Type

/** What a replay has handed to delivery again. */
export const ReplayResult = Schema.Struct({ subscription_id: SubscriptionId, event_id: Schema.String })
export type ReplayResult = typeof ReplayResult.Type
