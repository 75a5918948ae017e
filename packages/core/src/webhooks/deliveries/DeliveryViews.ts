import { Schema } from "effect"
import { Environment } from "../../access/Caller.ts"
import { aboutFields } from "../../wire/AboutIds.ts"
import { SubscriptionId, TestEventId } from "../../wire/Ids.ts"
import { pageFields } from "../../wire/Pagination.ts"
import { Timestamp } from "../../wire/Timestamp.ts"
import { DeliveryEntry } from "../records/Delivery.ts"

/** The input for listing deliveries. */
export const DeliveriesInput = Schema.Struct({
  id: Schema.String.annotateKey({ description: "The subscription, `sub_…`" }),
  ...pageFields,
  ...aboutFields
})
export type DeliveriesInput = typeof DeliveriesInput.Type

/** A page of the delivery log, newest first. It can be empty although a next page follows. */
export const DeliveryPage = Schema.Struct({
  deliveries: Schema.Array(DeliveryEntry).annotateKey({ description: "The deliveries, newest first" }),
  next_cursor: Schema.NullOr(Schema.String).annotateKey({
    description: "The `cursor` of the next page; null on the last one"
  })
})
export type DeliveryPage = typeof DeliveryPage.Type

/** The input that identifies a delivery: a subscription, and an event in its log. */
export const DeliveryInput = Schema.Struct({
  id: Schema.String.annotateKey({ description: "The subscription, `sub_…`" }),
  event_id: Schema.String.annotateKey({ description: "The event, `evt_…`, or the test event, `evt_test…`" })
})
export type DeliveryInput = typeof DeliveryInput.Type

/** A test event. It is not about a resource, and goes to only one subscription (api.md, Test events). */
export const TestEvent = Schema.Struct({
  id: TestEventId.annotateKey({ description: "The identifier of the test event" }),
  type: Schema.Literal("webhook.test").annotateKey({ description: "Always `webhook.test`" }),
  schema_version: Schema.String.annotateKey({ description: "The revision that the integration has pinned" }),
  occurred_at: Timestamp.annotateKey({ description: "When it was created" }),
  environment: Environment.annotateKey({ description: "The environment of the subscription" }),
  subscription_id: SubscriptionId.annotateKey({ description: "The subscription that it goes to" })
}).annotate({ identifier: "TestEvent" })
export type TestEvent = typeof TestEvent.Type

/** The response to sending a test event. */
export const TestResult = Schema.Struct({
  subscription_id: SubscriptionId.annotateKey({ description: "The subscription" }),
  event: TestEvent.annotateKey({ description: "The event that is sent" })
})
export type TestResult = typeof TestResult.Type

/** The response to replaying an event. */
export const ReplayResult = Schema.Struct({
  subscription_id: SubscriptionId.annotateKey({ description: "The subscription" }),
  event_id: Schema.String.annotateKey({ description: "The event that is sent again" })
})
export type ReplayResult = typeof ReplayResult.Type
