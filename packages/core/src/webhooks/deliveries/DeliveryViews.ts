import { Schema } from "effect"
import { Environment } from "../../access/Caller.ts"
import { SubscriptionId, TestEventId } from "../../wire/Ids.ts"
import { pageFields } from "../../wire/Pagination.ts"
import { Timestamp } from "../../wire/Timestamp.ts"
import { DeliveryEntry } from "../records/Delivery.ts"

/** Input of a list of deliveries. */
export const DeliveriesInput = Schema.Struct({ id: Schema.String, ...pageFields })
export type DeliveriesInput = typeof DeliveriesInput.Type

/** A page of the delivery log, newest first. It can be empty and still have a next page. */
export const DeliveryPage = Schema.Struct({
  deliveries: Schema.Array(DeliveryEntry),
  next_cursor: Schema.NullOr(Schema.String)
})
export type DeliveryPage = typeof DeliveryPage.Type

/** Input that names one delivery: an event in the log of a subscription. */
export const DeliveryInput = Schema.Struct({ id: Schema.String, event_id: Schema.String })
export type DeliveryInput = typeof DeliveryInput.Type

/** A test event: it names no resource, and goes to one subscription only (api.md, Test events). */
export const TestEvent = Schema.Struct({
  id: TestEventId,
  type: Schema.Literal("webhook.test"),
  schema_version: Schema.String,
  occurred_at: Timestamp,
  environment: Environment,
  subscription_id: SubscriptionId
}).annotate({ identifier: "TestEvent" })
export type TestEvent = typeof TestEvent.Type

/** The answer of a test. */
export const TestResult = Schema.Struct({ subscription_id: SubscriptionId, event: TestEvent })
export type TestResult = typeof TestResult.Type

/** The answer of a replay. */
export const ReplayResult = Schema.Struct({ subscription_id: SubscriptionId, event_id: Schema.String })
export type ReplayResult = typeof ReplayResult.Type
