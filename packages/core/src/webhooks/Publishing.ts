import { Effect } from "effect"
import * as Revision from "../access/Revision.ts"
import type { Event } from "../events/Event.ts"
import type { WorkspaceId } from "../Ids.ts"
import * as Json from "../Json.ts"
import type { Change, NewEvent } from "../storage/Change.ts"
import type { Storage, StorageUnavailable } from "../storage/Storage.ts"
import * as Delivery from "./Delivery.ts"
import { attemptJob } from "./DeliveryJob.ts"
import * as EventSubscription from "./EventSubscription.ts"
import { activeSubscriptions } from "./SubscriptionStore.ts"

type StorageService = Storage["Service"]

/**
 * A storage that commits events together with their deliveries.
 *
 * Whoever commits an event need not know of subscriptions: the delivery log shows a delivery the moment its event can
 * be read in the feed, and neither can be there without the other.
 */
export const publishing = (storage: StorageService): StorageService => ({
  ...storage,
  commit: (change) =>
    change.events.length === 0
      ? storage.commit(change)
      : Effect.flatMap(receivers(storage, change.workspace_id), (subscriptions) =>
          storage.commit(subscriptions.length === 0 ? change : withDeliveries(change, subscriptions))
        )
})

/** The subscriptions of a workspace that receive events now. */
export const receivers = (
  storage: StorageService,
  workspace_id: WorkspaceId
): Effect.Effect<ReadonlyArray<EventSubscription.KeptSubscription>, StorageUnavailable> =>
  Effect.map(activeSubscriptions(storage, workspace_id), (active) => active.filter(EventSubscription.receives))

const withDeliveries = (change: Change, subscriptions: ReadonlyArray<EventSubscription.KeptSubscription>): Change => {
  const deliveries = change.events.flatMap((event) => deliveriesOf(event, subscriptions))
  return {
    ...change,
    writes: [...change.writes, ...deliveries.map((delivery) => Delivery.toStored(delivery, delivery.created_at))],
    jobs: [...change.jobs, ...deliveries.map((delivery) => attemptJob(delivery, "scheduled"))]
  }
}

const deliveriesOf = (
  stored: NewEvent,
  subscriptions: ReadonlyArray<EventSubscription.KeptSubscription>
): ReadonlyArray<Delivery.KeptDelivery> => {
  const json = Json.fromText<Event>(stored.body)
  const { type } = Json.decode(json)
  const wanting = subscriptions.filter(({ event_types }) => event_types.includes(type))
  if (wanting.length === 0) return []
  const payload = payloadOf(json)
  return wanting.map(({ id }) =>
    Delivery.handOver({
      subscription_id: id,
      event_id: stored.id,
      event_type: type,
      payload,
      at: stored.occurred_at
    })
  )
}

/** The body of a webhook: the event and the revision that it is written in. Made once, sent at every attempt. */
export const payloadOf = (event: Json.Json<Event>): string =>
  Json.extend(event, { schema_version: Revision.current }).text
