import { Effect } from "effect"
import * as Revision from "../access/Revision.ts"
import type { Revisions } from "../access/Revisions.ts"
import type { Event } from "../events/Event.ts"
import type { WorkspaceId } from "../Ids.ts"
import * as Json from "../Json.ts"
import type { Workspaces } from "../sandbox/Workspaces.ts"
import type { Change, NewEvent } from "../storage/Change.ts"
import type { Storage, StorageUnavailable } from "../storage/Storage.ts"
import * as Delivery from "./Delivery.ts"
import { attemptJob } from "./DeliveryJob.ts"
import * as EventSubscription from "./EventSubscription.ts"
import { activeSubscriptions } from "./SubscriptionStore.ts"

type StorageService = Storage["Service"]

/**
 * A storage that commits events together with their deliveries: what every service of the core commits through.
 *
 * Whoever commits an event need not know of subscriptions: the delivery log shows a delivery the moment its event can
 * be read in the feed, and neither can be there without the other. The first event that is delivered stores the pin of
 * its workspace, if no call did (api.md, Versioning 3).
 */
export const publishing = (
  storage: StorageService,
  revisions: Revisions["Service"],
  workspaces: Workspaces["Service"]
): StorageService => {
  const withDeliveries = Effect.fnUntraced(function* (change: Change) {
    const subscriptions = yield* receivers(storage, change.workspace_id)
    const wanted = change.events.flatMap((event) => wantedBy(event, subscriptions))
    if (wanted.length === 0) return change
    const revision = yield* revisions.pin(change.workspace_id)
    const handed = wanted.flatMap((event) => handOver(event, revision))
    const isSandbox = subscriptions.some(({ environment }) => environment === "sandbox")
    const ahead_ms = isSandbox ? yield* wayToGo(workspaces, change.workspace_id) : 0
    return {
      ...change,
      writes: [...change.writes, ...handed.map(({ delivery }) => Delivery.toStored(delivery, delivery.created_at))],
      jobs: [
        ...change.jobs,
        ...handed.map(({ delivery, subscription }) =>
          attemptJob(delivery, subscription, delivery.created_at + ahead_ms)
        )
      ]
    }
  })
  return {
    ...storage,
    commit: (change) =>
      change.events.length === 0 ? storage.commit(change) : Effect.flatMap(withDeliveries(change), storage.commit)
  }
}

/** How far a sandbox's clock still has to go while it is advanced, in milliseconds. */
const wayToGo = (workspaces: Workspaces["Service"], workspace_id: WorkspaceId) =>
  Effect.map(workspaces.moment(workspace_id), ({ workspace: { clock_offset_ms, clock_target_ms } }) =>
    Math.max(0, clock_target_ms - clock_offset_ms)
  )

/** The subscriptions of a workspace that receive events now. */
export const receivers = (
  storage: StorageService,
  workspace_id: WorkspaceId
): Effect.Effect<ReadonlyArray<EventSubscription.KeptSubscription>, StorageUnavailable> =>
  Effect.map(activeSubscriptions(storage, workspace_id), (active) => active.filter(EventSubscription.receives))

/** An event that is to be delivered, and to whom. */
interface Wanted {
  readonly stored: NewEvent
  readonly json: Json.Json<Event>
  readonly type: string
  readonly subscriptions: ReadonlyArray<EventSubscription.KeptSubscription>
}

const wantedBy = (stored: NewEvent, all: ReadonlyArray<EventSubscription.KeptSubscription>): ReadonlyArray<Wanted> => {
  if (all.length === 0) return []
  const json = Json.fromText<Event>(stored.body)
  const { type } = Json.pick(json, ["type"])
  const subscriptions = all.filter(({ event_types }) => event_types.includes(type))
  return subscriptions.length === 0 ? [] : [{ stored, json, type, subscriptions }]
}

interface HandedOver {
  readonly delivery: Delivery.KeptDelivery
  readonly subscription: EventSubscription.KeptSubscription
}

const handOver = (
  { stored, json, type, subscriptions }: Wanted,
  revision: Revision.Revision
): ReadonlyArray<HandedOver> => {
  const payload = payloadOf(json, revision)
  return subscriptions.map((subscription) => ({
    subscription,
    delivery: Delivery.handOver({
      subscription_id: subscription.id,
      event_id: stored.id,
      event_type: type,
      payload,
      at: stored.occurred_at
    })
  }))
}

/** The body of a webhook: the event in a revision, and its date. Made once, sent at every attempt. */
export const payloadOf = (event: Json.Json<Event>, revision: Revision.Revision): string =>
  Json.extend(Revision.event(revision, event), { schema_version: revision.date }).text
