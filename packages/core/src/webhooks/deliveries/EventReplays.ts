import { Effect, Option } from "effect"
import { expectationsOf, Workspaces } from "../../access/Workspaces.ts"
import { acceptOnce } from "../../calls/acceptOnce.ts"
import { Revisions } from "../../calls/Revision.ts"
import type { Event } from "../../events/Event.ts"
import type { StoredEvent } from "../../storage/Change.ts"
import * as Change from "../../storage/Change.ts"
import { commit, endOfFeed, readOne, retryOnConflict, Storage } from "../../storage/Storage.ts"
import { Ids, type WorkspaceId } from "../../wire/Ids.ts"
import * as Json from "../../wire/Json.ts"
import * as Delivery from "../records/Delivery.ts"
import { receives, type StoredSubscription } from "../records/StoredSubscription.ts"
import { activeSubscriptions } from "../records/SubscriptionStore.ts"
import { dueAt, type EventReplay, kind, maxReplayed, orderOf, type ReplayCode } from "./EventReplay.ts"
import { payloadOf } from "./Publishing.ts"

/**
 * Makes the function that resends a sandbox's recorded events to every subscription that wants them.
 *
 * Each attempt is stored together with the replay's progress, so a retried call continues where the first call was
 * interrupted.
 */
export const make = Effect.gen(function* () {
  const storage = yield* Storage
  const workspaces = yield* Workspaces
  const ids = yield* Ids
  const sendAgain = yield* makeSendAgain

  /** Accepts a replay, and determines which events it sends. */
  const accept = ({ workspace_id, id }: RecordKey, code: ReplayCode) =>
    acceptOnce({ storage, workspaces }, kind, { workspace_id, id }, ({ workspace, now }) =>
      Effect.gen(function* () {
        const events = yield* newestEvents(storage, workspace_id)
        const subscriptions = (yield* activeSubscriptions(storage, workspace_id)).filter(receives)
        const value: EventReplay = {
          id: ids.replay(),
          at: now,
          due_at: dueAt(code, now),
          reset_count: workspace.reset_count,
          subscriptions: subscriptions.map((subscription) => subscription.id),
          first: events.at(0)?.number ?? 1,
          last: events.at(-1)?.number ?? 0,
          turns: 0,
          deliveries: 0
        }
        return { value, at: now }
      })
    )

  /** Queues the next attempt in a replay. Returns the replay once it has ended, and null before that. */
  const sendNext = Effect.fnUntraced(function* (
    { workspace_id, id }: RecordKey,
    steps: ReadonlyArray<ReplayStep | null>
  ) {
    const stored = yield* storage.get({ workspace_id, kind: kind.name, id })
    if (Option.isNone(stored)) return yield* Effect.die(new Error("A replay was erased before it finished"))
    const replay = kind.value(stored.value)
    const moment = yield* workspaces.moment(workspace_id)
    const place = steps.findIndex((candidate, index) => candidate !== null && index >= replay.turns)
    const step = steps[place] ?? null
    if (step === null || moment.workspace.reset_count !== replay.reset_count) return replay
    const { created_at, version } = stored.value
    const progress: EventReplay = { ...replay, turns: place + 1, deliveries: replay.deliveries + 1 }
    const record = kind.record(progress, { id, version: version + 1, created_at, updated_at: created_at })
    const { writes, jobs } = yield* sendAgain(workspace_id, step, replay)
    yield* commit(
      storage,
      Change.make(workspace_id, { writes: [...writes, record], jobs, expects: expectationsOf(moment) })
    )
    return null
  })

  return Effect.fnUntraced(function* (workspace_id: WorkspaceId, code: ReplayCode, key: string | null) {
    const record: RecordKey = { workspace_id, id: `${code} ${key}` }
    const steps = yield* stepsOf(storage, workspace_id, code, yield* accept(record, code))
    while (true) {
      const finished = yield* retryOnConflict(sendNext(record, steps))
      if (finished !== null) return finished
    }
  })
})

/** Identifies a replay in storage. */
interface RecordKey {
  readonly workspace_id: WorkspaceId
  readonly id: string
}

/** One event to send to one subscription. */
interface ReplayStep {
  readonly subscription: StoredSubscription
  readonly event: RecordedEvent
}

/** The steps of a replay, in order; null for a step that sends nothing. */
const stepsOf = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  workspace_id: WorkspaceId,
  code: ReplayCode,
  replay: EventReplay
) {
  const page = yield* storage.feed({ workspace_id, after: replay.first - 1, limit: maxReplayed })
  const events = new Map(page.events.map((event) => [event.number, recorded(event)]))
  const active = new Map(
    (yield* activeSubscriptions(storage, workspace_id)).map((subscription) => [subscription.id, subscription])
  )
  const numbers = orderOf(code, replay)
  return replay.subscriptions.flatMap((id) =>
    numbers.map((number): ReplayStep | null => {
      const subscription = active.get(id)
      const event = events.get(number)
      if (subscription === undefined || event === undefined || !receives(subscription)) return null
      return subscription.event_types.includes(event.type) ? { subscription, event } : null
    })
  )
})

interface RecordedEvent {
  readonly id: string
  readonly type: string
  readonly about: ReadonlyArray<string>
  readonly json: Json.Json<Event>
}

const recorded = (event: StoredEvent): RecordedEvent => {
  const json = Json.fromText<Event>(event.body)
  return { id: event.id, type: Json.decode(json).type, about: event.about, json }
}

const newestEvents = Effect.fnUntraced(function* (storage: Storage["Service"], workspace_id: WorkspaceId) {
  const end = yield* endOfFeed(storage, workspace_id)
  const page = yield* storage.feed({ workspace_id, after: Math.max(0, end - maxReplayed), limit: maxReplayed })
  return page.events
})

/**
 * Makes a function that queues another attempt to deliver an event, regardless of its delivery's state. If the event
 * has no delivery yet, the function creates the delivery.
 */
const makeSendAgain = Effect.gen(function* () {
  const storage = yield* Storage
  const revisions = yield* Revisions

  return Effect.fnUntraced(function* (
    workspace_id: WorkspaceId,
    { subscription: { id: subscription_id }, event }: ReplayStep,
    { at, due_at }: EventReplay
  ) {
    const delivery = yield* readOne(storage, Delivery.kind, workspace_id, Delivery.idOf(subscription_id, event.id))
    if (delivery !== null) return { writes: [], jobs: [Delivery.replayJob(delivery, null, due_at)] }
    const first = Delivery.make({
      subscription_id,
      event_id: event.id,
      event_type: event.type,
      about: event.about,
      payload: payloadOf(event.json, yield* revisions.pin(workspace_id)),
      at,
      due_at
    })
    return { writes: [Delivery.toStored(first, at)], jobs: [Delivery.replayJob(first, first.schedule_step, due_at)] }
  })
})
