import { Effect } from "effect"
import { remainingAdvance } from "../../access/Workspace.ts"
import type { Workspaces } from "../../access/Workspaces.ts"
import * as Revision from "../../calls/Revision.ts"
import type { Revisions } from "../../calls/Revisions.ts"
import { BoundedMap } from "../../concurrency/BoundedMap.ts"
import type { Event } from "../../events/Event.ts"
import type { Change, NewEvent } from "../../storage/Change.ts"
import { type Storage, VersionConflict } from "../../storage/Storage.ts"
import type { WorkspaceId } from "../../wire/Ids.ts"
import * as Json from "../../wire/Json.ts"
import * as EventSubscription from "../subscriptions/EventSubscription.ts"
import * as Recipients from "../subscriptions/Recipients.ts"
import * as Delivery from "./Delivery.ts"
import { attemptJob } from "./DeliveryJob.ts"

type StorageService = Storage["Service"]

/**
 * A storage that adds deliveries to every change with events. Every service of the core commits through it.
 *
 * Services that commit events need not know about subscriptions. An event and its deliveries appear together, in the feed
 * and in the delivery log. The first delivered event also stores the pin of its workspace, if no call did before
 * (api.md, Versioning 3).
 *
 * The recipients of a workspace are cached. Every change with events expects the cached version of the recipients, and
 * every change of a subscription raises it: a change that used an outdated cache of any process conflicts and is retried.
 */
export const publishing = (
  storage: StorageService,
  revisions: Revisions["Service"],
  workspaces: Workspaces["Service"]
): StorageService => {
  const remembered = new BoundedMap<WorkspaceId, Recipients.Recipients>(max_remembered)

  const forget = (workspace_id: WorkspaceId): void => {
    remembered.delete(workspace_id)
  }

  const deliver = Effect.fnUntraced(function* (change: Change, { subscriptions, seen }: Recipients.Recipients) {
    const resting = { ...change, expects: [...change.expects, seen] }
    const wanted = change.events.flatMap((event) => wantedBy(event, subscriptions))
    if (wanted.length === 0) return yield* storage.commit(resting)
    const revision = yield* revisions.pin(change.workspace_id)
    const handed = wanted.flatMap((event) => handOver(event, revision))
    const isSandbox = subscriptions.some(({ environment }) => environment === "sandbox")
    const ahead_ms = isSandbox ? yield* aheadOf(workspaces, change.workspace_id) : 0
    yield* storage.commit({
      ...resting,
      writes: [...change.writes, ...handed.map(({ delivery }) => Delivery.toStored(delivery, delivery.created_at))],
      jobs: [
        ...change.jobs,
        ...handed.map(({ delivery, subscription }) =>
          attemptJob(delivery, subscription, delivery.created_at + ahead_ms)
        )
      ]
    })
  })

  const deliverAnew = (change: Change) =>
    Effect.flatMap(Recipients.load(storage, change.workspace_id), (receivers) => {
      remembered.set(change.workspace_id, receivers)
      return deliver(change, receivers)
    })

  const publish = (change: Change) =>
    Effect.suspend(() => {
      const receivers = remembered.get(change.workspace_id)
      const anew = Effect.suspend(() => deliverAnew(change))
      return whereReceiversChange(receivers === undefined ? anew : deliver(change, receivers), anew)
    })

  const commit = (change: Change) => (change.events.length === 0 ? storage.commit(change) : publish(change))

  const tell = (change: Change, at: number) =>
    Effect.suspend(() =>
      Effect.flatMap(Recipients.changed(storage, change.workspace_id, at), (told) =>
        commit({ ...change, writes: [...change.writes, told] })
      )
    )

  return {
    ...storage,
    commit: (change) => {
      const subscription = change.writes.find(({ kind }) => kind === EventSubscription.kind.name)
      if (subscription === undefined) return commit(change)
      const telling = tell(change, subscription.updated_at)
      const told = Recipients.isToldBy(change) ? commit(change) : whereReceiversChange(telling, telling)
      return Effect.map(told, () => forget(change.workspace_id))
    }
  }
}

const max_remembered = 10_000

/** How often a commit is retried when the recipients have changed meanwhile, which is rare. */
const max_retries = 20

/** Runs `first`. If the recipients have changed meanwhile, runs `then` and retries it. */
const whereReceiversChange = <A, E, R>(
  first: Effect.Effect<A, E | VersionConflict, R>,
  then: Effect.Effect<A, E | VersionConflict, R>
): Effect.Effect<A, E | VersionConflict, R> =>
  Effect.catchIf(first, isOfReceivers, () => Effect.retry(then, { times: max_retries, while: isOfReceivers }))

const isOfReceivers = (error: unknown): error is VersionConflict =>
  error instanceof VersionConflict && Recipients.haveChanged(error)

/** How far a sandbox's clock has still to advance to its target, in milliseconds. */
const aheadOf = (workspaces: Workspaces["Service"], workspace_id: WorkspaceId) =>
  Effect.map(workspaces.moment(workspace_id), ({ workspace, now }) =>
    remainingAdvance(workspace, now - workspace.clock_offset_ms)
  )

/** An event and the subscriptions that want it. */
interface Wanted {
  readonly stored: NewEvent
  readonly json: Json.Json<Event>
  readonly type: string
  readonly subscriptions: ReadonlyArray<EventSubscription.KeptSubscription>
}

const wantedBy = (stored: NewEvent, all: ReadonlyArray<EventSubscription.KeptSubscription>): ReadonlyArray<Wanted> => {
  if (all.length === 0) return []
  const json = Json.fromText<Event>(stored.body)
  const { type } = Json.decode(json)
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

/** The body of a webhook: the event in a revision, with the revision's date. Made once and sent at every attempt. */
export const payloadOf = (event: Json.Json<Event>, revision: Revision.Revision): string =>
  Json.extend(Revision.event(revision, event), { schema_version: revision.date }).text
