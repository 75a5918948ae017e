import { Schema } from "effect"
import { Environment } from "../../access/Caller.ts"
import { TypeName } from "../../events/Event.ts"
import { SubscriptionId, TestEventId } from "../../wire/Ids.ts"
import { textUpTo } from "../../wire/Input.ts"
import { pageFields } from "../../wire/Page.ts"
import { Timestamp } from "../../wire/Timestamp.ts"
import { DeliveryEntry } from "../deliveries/Delivery.ts"
import { EventSubscription } from "./EventSubscription.ts"

const Url = textUpTo(2_048).annotate({ description: "Public https address" })
const EventTypes = Schema.Array(TypeName).check(Schema.isMaxLength(50))

/** Input of a create: where to send events, and which. */
export const CreateInput = Schema.Struct({ url: Url, event_types: EventTypes })
export type CreateInput = typeof CreateInput.Type

const nothingToChange = ["url", "event_types"].map((field) => ({
  path: [field],
  issue: "Send url, event_types or both: there is nothing to change"
}))

/** Input of an update: at least one change. */
export const UpdateInput = Schema.Struct({
  id: Schema.String,
  url: Schema.optionalKey(Url),
  event_types: Schema.optionalKey(EventTypes)
}).check(
  Schema.makeFilter(
    ({ url, event_types }) => (url === undefined && event_types === undefined ? nothingToChange : undefined),
    // The id, and at least one more.
    { toJsonSchema: () => ({ minProperties: 2 }) }
  )
)
export type UpdateInput = typeof UpdateInput.Type

/** Input that names one subscription. */
export const IdInput = Schema.Struct({ id: Schema.String.annotateKey({ description: "The subscription, `sub_…`" }) })

/** Input of a list of subscriptions. */
export const ListInput = Schema.Struct(pageFields)
export type ListInput = typeof ListInput.Type

/** A page of subscriptions, newest first. */
export const SubscriptionPage = Schema.Struct({
  event_subscriptions: Schema.Array(EventSubscription),
  next_cursor: Schema.NullOr(Schema.String)
})
export type SubscriptionPage = typeof SubscriptionPage.Type

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

/** The answer of a test. */
export const TestResult = Schema.Struct({ subscription_id: SubscriptionId, event: TestEvent })
export type TestResult = typeof TestResult.Type

/** The answer of a replay. */
export const ReplayResult = Schema.Struct({ subscription_id: SubscriptionId, event_id: Schema.String })
export type ReplayResult = typeof ReplayResult.Type
