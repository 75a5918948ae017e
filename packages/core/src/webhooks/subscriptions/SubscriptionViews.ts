import { Schema } from "effect"
import { TypeName } from "../../events/Event.ts"
import { textUpTo } from "../../wire/Input.ts"
import { pageFields } from "../../wire/Pagination.ts"
import { EventSubscription } from "../records/EventSubscription.ts"

const Url = textUpTo(2_048).annotate({ description: "Public https address" })
const EventTypes = Schema.Array(TypeName).check(Schema.isMaxLength(50))

/** The input for creating a subscription: where to send events, and which events to send. */
export const CreateInput = Schema.Struct({
  url: Url,
  event_types: EventTypes.annotateKey({ description: "The types of events to send" })
})
export type CreateInput = typeof CreateInput.Type

const nothingToChange = ["url", "event_types"].map((field) => ({
  path: [field],
  issue: "Send url, event_types or both: there is nothing to change"
}))

/** The input for changing a subscription. It contains at least one change. */
export const UpdateInput = Schema.Struct({
  id: Schema.String.annotateKey({ description: "The subscription, `sub_…`" }),
  url: Schema.optionalKey(Url),
  event_types: Schema.optionalKey(EventTypes).annotateKey({ description: "The types of events to send from now on" })
}).check(
  Schema.makeFilter(
    ({ url, event_types }) => (url === undefined && event_types === undefined ? nothingToChange : undefined),
    // The ID and at least one other field.
    { toJsonSchema: () => ({ minProperties: 2 }) }
  )
)
export type UpdateInput = typeof UpdateInput.Type

/** The input that identifies one subscription. */
export const IdInput = Schema.Struct({ id: Schema.String.annotateKey({ description: "The subscription, `sub_…`" }) })

/** The input for listing subscriptions. */
export const ListInput = Schema.Struct(pageFields)
export type ListInput = typeof ListInput.Type

/** A page of subscriptions, newest first. */
export const SubscriptionPage = Schema.Struct({
  event_subscriptions: Schema.Array(EventSubscription).annotateKey({ description: "The subscriptions, newest first" }),
  next_cursor: Schema.NullOr(Schema.String).annotateKey({
    description: "The `cursor` of the next page; null on the last one"
  })
})
export type SubscriptionPage = typeof SubscriptionPage.Type
