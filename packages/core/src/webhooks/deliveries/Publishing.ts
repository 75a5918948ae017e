import { Effect } from "effect"
import { remainingAdvance, type Workspaces } from "../../access/Workspaces.ts"
import type { Revisions } from "../../calls/Revision.ts"
import * as Revision from "../../calls/Revision.ts"
import { BoundedMap } from "../../concurrency/BoundedMap.ts"
import type { Event } from "../../events/Event.ts"
import type { Change, NewEvent } from "../../storage/Change.ts"
import { type Storage, VersionConflict } from "../../storage/Storage.ts"
import type { WorkspaceId } from "../../wire/Ids.ts"
import * as Json from "../../wire/Json.ts"
import * as Delivery from "../records/Delivery.ts"
import * as StoredSubscription from "../records/StoredSubscription.ts"
import * as Recipients from "../subscriptions/Recipients.ts"

type StorageService = Storage["Service"]

/**
 * Wraps a storage backend so that every change with events also creates the deliveries. All services of the core commit
 * through it.
 *
 * Services that commit events therefore need not know about subscriptions. An event and its deliveries appear together,
 * in the feed and in the delivery log. The first delivered event also stores its workspace's pin, if no call has done
 * so before (api.md, Pins).
 *
 * A workspace's recipients are cached. Every change with events expects the cached version of the recipients, and every
 * change to a subscription raises that version. A change that used an outdated cache, in any process, therefore
 * conflicts and is retried.
 */
export const withDeliveries = (
  storage: StorageService,
  revisions: Revisions["Service"],
  workspaces: Workspaces["Service"]
): StorageService => {
  const cache = new BoundedMap<WorkspaceId, Recipients.Recipients>(maxCached)

  const forget = (workspaceId: WorkspaceId): void => {
    cache.delete(workspaceId)
  }

  const deliver = makeCommitWithDeliveries(storage, revisions, workspaces)

  const reloadAndDeliver = (change: Change) =>
    Effect.flatMap(Recipients.load(storage, change.workspace_id), (recipients) => {
      cache.set(change.workspace_id, recipients)
      return deliver(change, recipients)
    })

  const publish = (change: Change) =>
    Effect.suspend(() => {
      const cached = cache.get(change.workspace_id)
      const reload = Effect.suspend(() => reloadAndDeliver(change))
      return retryOnRecipientsConflict(cached === undefined ? reload : deliver(change, cached), reload)
    })

  const commit = (change: Change) => (change.events.length === 0 ? storage.commit(change) : publish(change))

  const commitWithNewRecipients = (change: Change, now: number) =>
    Effect.suspend(() =>
      Effect.flatMap(Recipients.nextVersion(storage, change.workspace_id, now), (record) =>
        commit({ ...change, writes: [...change.writes, record] })
      )
    )

  return {
    ...storage,
    commit: (change) => {
      const subscription = change.writes.find(({ kind }) => kind === StoredSubscription.kind.name)
      if (subscription === undefined) return commit(change)
      const committing = commitWithNewRecipients(change, subscription.updated_at)
      const committed = Recipients.writesRecipients(change)
        ? commit(change)
        : retryOnRecipientsConflict(committing, committing)
      return Effect.map(committed, () => forget(change.workspace_id))
    }
  }
}

/**
 * Makes a function that commits a change together with the deliveries of its events. The change expects that the
 * recipients have not changed.
 */
const makeCommitWithDeliveries = (
  storage: StorageService,
  revisions: Revisions["Service"],
  workspaces: Workspaces["Service"]
) => {
  const deliverTo = Effect.fnUntraced(function* (
    change: Change,
    wanted: ReadonlyArray<WantedEvent>,
    subscriptions: Recipients.Recipients["subscriptions"]
  ) {
    const revision = yield* revisions.pin(change.workspace_id)
    const queued = wanted.flatMap((event) => enqueueFor(event, revision))
    const isSandbox = subscriptions.some(({ environment }) => environment === "sandbox")
    const aheadMs = isSandbox ? yield* remainingAdvanceOf(workspaces, change.workspace_id) : 0
    yield* storage.commit({
      ...change,
      writes: [...change.writes, ...queued.map(({ delivery }) => Delivery.toStored(delivery, delivery.created_at))],
      jobs: [
        ...change.jobs,
        ...queued.map(({ delivery, subscription }) =>
          Delivery.attemptJob(delivery, subscription, delivery.created_at + aheadMs)
        )
      ]
    })
  })

  return (change: Change, { subscriptions, seen }: Recipients.Recipients) => {
    const expecting = { ...change, expects: [...change.expects, seen] }
    const wanted = change.events.flatMap((event) => wantedBy(event, subscriptions))
    return wanted.length === 0 ? storage.commit(expecting) : deliverTo(expecting, wanted, subscriptions)
  }
}

const maxCached = 10_000

/** The maximum number of retries of a commit because the recipients have changed, which is rare. */
const maxRetries = 20

/** Runs `attempt`. If the recipients have changed in the meantime, runs `recover`, several times if necessary. */
const retryOnRecipientsConflict = <A, E, R>(
  attempt: Effect.Effect<A, E | VersionConflict, R>,
  recover: Effect.Effect<A, E | VersionConflict, R>
): Effect.Effect<A, E | VersionConflict, R> =>
  Effect.catchIf(attempt, isRecipientsConflict, () =>
    Effect.retry(recover, { times: maxRetries, while: isRecipientsConflict })
  )

const isRecipientsConflict = (error: unknown): error is VersionConflict =>
  error instanceof VersionConflict && Recipients.isRecipientsConflict(error)

/** How far a sandbox's clock still has to advance, in milliseconds. */
const remainingAdvanceOf = (workspaces: Workspaces["Service"], workspaceId: WorkspaceId) =>
  Effect.map(workspaces.moment(workspaceId), ({ workspace, now }) =>
    remainingAdvance(workspace, now - workspace.clock_offset_ms)
  )

/** An event and the subscriptions that want it. */
interface WantedEvent {
  readonly stored: NewEvent
  readonly json: Json.Json<Event>
  readonly type: string
  readonly subscriptions: ReadonlyArray<StoredSubscription.StoredSubscription>
}

const wantedBy = (
  event: NewEvent,
  recipients: ReadonlyArray<StoredSubscription.StoredSubscription>
): ReadonlyArray<WantedEvent> => {
  if (recipients.length === 0) return []
  const json = Json.fromText<Event>(event.body)
  const type = event.type ?? Json.decode(json).type
  const subscriptions = recipients.filter(({ event_types }) => event_types.includes(type))
  return subscriptions.length === 0 ? [] : [{ stored: event, json, type, subscriptions }]
}

interface Queued {
  readonly delivery: Delivery.StoredDelivery
  readonly subscription: StoredSubscription.StoredSubscription
}

const enqueueFor = (
  { stored, json, type, subscriptions }: WantedEvent,
  revision: Revision.Revision
): ReadonlyArray<Queued> => {
  const payload = payloadOf(json, revision)
  return subscriptions.map((subscription) => ({
    subscription,
    delivery: Delivery.make({
      subscription_id: subscription.id,
      event_id: stored.id,
      event_type: type,
      about: stored.about,
      payload,
      at: stored.occurred_at
    })
  }))
}

/**
 * The body of a webhook: the event in a revision, and the revision's date. It is made once, and sent in every attempt.
 */
export const payloadOf = (event: Json.Json<Event>, revision: Revision.Revision): string =>
  Json.extend(Revision.resource(revision, "event", event), { schema_version: revision.date }).text
