import { Effect, Option, Schema } from "effect"
import { restsOn, type Workspaces } from "../../access/Workspaces.ts"
import { acceptOnce } from "../../calls/acceptOnce.ts"
import type { Revisions } from "../../calls/Revisions.ts"
import type { Event } from "../../events/Event.ts"
import type { StoredEvent } from "../../storage/Change.ts"
import * as Change from "../../storage/Change.ts"
import * as Kind from "../../storage/Kind.ts"
import { commit, retryOnConflict } from "../../storage/retryOnConflict.ts"
import type { Storage } from "../../storage/Storage.ts"
import { type Ids, ReplayId, SubscriptionId, type WorkspaceId } from "../../wire/Ids.ts"
import * as Json from "../../wire/Json.ts"
import { minute_ms } from "../../wire/Timestamp.ts"
import { type KeptSubscription, receives } from "../subscriptions/EventSubscription.ts"
import { activeSubscriptions, loadDelivery } from "../subscriptions/SubscriptionStore.ts"
import * as Delivery from "./Delivery.ts"
import { replayJob } from "./DeliveryJob.ts"
import { payloadOf } from "./Publishing.ts"

/** The ways in which a sandbox can replay its events. */
const replayCodes = ["as_recorded", "duplicated", "reversed", "delayed", "gap"] as const
/** One of the ways in which a sandbox can replay its events. */
export const ReplayCode = Schema.Literals(replayCodes)
export type ReplayCode = typeof ReplayCode.Type

/** At most this many events are replayed, the newest. */
const max_replayed = 1_000

const at_most = `of more than ${max_replayed}, the newest.`
const dropStale = "Drop events whose resource.version is not newer than the one you hold."

/** For each way of replaying: what it does, and how a correct consumer recovers. */
export const tellings: {
  readonly [C in ReplayCode]: { readonly notice: string; readonly recovery: string | null }
} = {
  as_recorded: { notice: `Every recorded event was sent again, in its order; ${at_most}`, recovery: dropStale },
  duplicated: { notice: `Every recorded event was sent again, twice; ${at_most}`, recovery: dropStale },
  reversed: { notice: `Every recorded event was sent again, the newest first; ${at_most}`, recovery: dropStale },
  delayed: {
    notice: `Every recorded event is sent again in 15 minutes of workspace time; ${at_most}`,
    recovery: dropStale
  },
  gap: {
    notice: `Every recorded event but the first was sent again, which stands in the feed only; ${at_most}`,
    recovery: "Read GET /v1/events from your stored cursor."
  }
}

const delay_ms = 15 * minute_ms

/** A replay in progress: what it sends, and how far it is. */
const Replay = Schema.Struct({
  id: ReplayId,
  /** The time of the replay and the time of its attempts, in milliseconds of workspace time. */
  at: Schema.Int,
  due_at: Schema.Int,
  /** The workspace's reset count. A later reset voids the replay. */
  reset_count: Schema.Int,
  subscriptions: Schema.Array(SubscriptionId),
  /** The sequence numbers of the first and the last event to send. */
  first: Schema.Int,
  last: Schema.Int,
  /** How many turns are done. A turn is one event for one subscription. */
  turns: Schema.Int,
  /** How many attempts were queued for delivery. */
  deliveries: Schema.Int
})
type Replay = typeof Replay.Type

/** Replays in storage, by ids that are derived from their calls. */
export const kind = Kind.make({
  name: "events_replay",
  schema: Replay,
  survives_reset: true,
  kept_for: { period: "quotes", clock: "workspace" }
})

/** The services that a replay needs. */
export interface Services {
  readonly storage: Storage["Service"]
  readonly workspaces: Workspaces["Service"]
  readonly revisions: Revisions["Service"]
  readonly ids: Ids["Service"]
}

/** Where a replay is stored. */
interface Name {
  readonly workspace_id: WorkspaceId
  readonly id: string
}

/**
 * Sends the recorded events of a sandbox again, to every subscription that wants them.
 *
 * Each attempt is committed together with the progress of the replay, so a repeated call continues where it stopped.
 */
export const replayEvents = Effect.fnUntraced(function* (
  services: Services,
  workspace_id: WorkspaceId,
  code: ReplayCode,
  key: string | null
) {
  const { ids, storage } = services
  const name: Name = { workspace_id, id: `${code} ${key}` }
  const accepted = yield* acceptOnce(services, kind, name, ({ workspace, now }) =>
    Effect.gen(function* () {
      const events = yield* newestEvents(storage, workspace_id)
      const subscriptions = (yield* activeSubscriptions(storage, workspace_id)).filter(receives)
      const value: Replay = {
        id: ids.replay(),
        at: now,
        due_at: code === "delayed" ? now + delay_ms : now,
        reset_count: workspace.reset_count,
        subscriptions: subscriptions.map(({ id }) => id),
        first: events.at(0)?.number ?? 1,
        last: events.at(-1)?.number ?? 0,
        turns: 0,
        deliveries: 0
      }
      return { value, at: now }
    })
  )
  const turns = yield* turnsOf(storage, workspace_id, code, accepted)
  while (true) {
    const ended = yield* retryOnConflict(sendNext(services, name, turns))
    if (ended !== null) return ended
  }
})

/** One event for one subscription. */
interface Turn {
  readonly subscription: KeptSubscription
  readonly event: Recorded
}

/** The turns of a replay, in order; null for a turn that sends nothing. */
const turnsOf = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  workspace_id: WorkspaceId,
  code: ReplayCode,
  { first, last, subscriptions }: Replay
) {
  const page = yield* storage.feed({ workspace_id, after: first - 1, limit: max_replayed })
  const events = new Map(page.events.map((event) => [event.number, recorded(event)]))
  const active = new Map((yield* activeSubscriptions(storage, workspace_id)).map((one) => [one.id, one]))
  const numbers = arrange(
    code,
    Array.from({ length: last - first + 1 }, (_, place) => first + place)
  )
  return subscriptions.flatMap((id) =>
    numbers.map((number): Turn | null => {
      const subscription = active.get(id)
      const event = events.get(number)
      if (subscription === undefined || event === undefined || !receives(subscription)) return null
      return subscription.event_types.includes(event.type) ? { subscription, event } : null
    })
  )
})

/** Queues the next attempt of a replay. Returns the replay when it is over, otherwise null. */
const sendNext = Effect.fnUntraced(function* (
  services: Services,
  { workspace_id, id }: Name,
  turns: ReadonlyArray<Turn | null>
) {
  const { storage, workspaces } = services
  const stored = yield* storage.get({ workspace_id, kind: kind.name, id })
  if (Option.isNone(stored)) return yield* Effect.die(new Error("A replay was erased before it was over"))
  const replay = kind.value(stored.value)
  const moment = yield* workspaces.moment(workspace_id)
  const place = turns.findIndex((turn, place) => turn !== null && place >= replay.turns)
  const turn = turns[place] ?? null
  if (turn === null || moment.workspace.reset_count !== replay.reset_count) return replay
  const { created_at, version } = stored.value
  const progress: Replay = { ...replay, turns: place + 1, deliveries: replay.deliveries + 1 }
  const record = kind.record(progress, { id, version: version + 1, created_at, updated_at: created_at })
  const { writes, jobs } = yield* sendAgain(services, workspace_id, turn, replay)
  yield* commit(storage, Change.make(workspace_id, { writes: [...writes, record], jobs, expects: restsOn(moment) }))
  return null
})

interface Recorded {
  readonly id: string
  readonly type: string
  readonly json: Json.Json<Event>
}

const recorded = (event: StoredEvent): Recorded => {
  const json = Json.fromText<Event>(event.body)
  return { id: event.id, type: Json.decode(json).type, json }
}

const newestEvents = Effect.fnUntraced(function* (storage: Storage["Service"], workspace_id: WorkspaceId) {
  let after = 0
  let newest: ReadonlyArray<StoredEvent> = []
  while (true) {
    const { events } = yield* storage.feed({ workspace_id, after, limit: max_replayed })
    newest = [...newest, ...events].slice(-max_replayed)
    const last = events.at(-1)
    if (last === undefined || events.length < max_replayed) return newest
    after = last.number
  }
})

const arrange = (code: ReplayCode, numbers: ReadonlyArray<number>): ReadonlyArray<number> => {
  switch (code) {
    case "duplicated":
      return numbers.flatMap((number) => [number, number])
    case "reversed":
      return numbers.toReversed()
    case "gap":
      return numbers.slice(1)
    case "as_recorded":
    case "delayed":
      return numbers
  }
}

/** Queues one more attempt of an event, whatever the state of its delivery. Creates the delivery if there is none. */
const sendAgain = Effect.fnUntraced(function* (
  { storage, revisions }: Services,
  workspace_id: WorkspaceId,
  { subscription: { id: subscription_id }, event }: Turn,
  { at, due_at }: Replay
) {
  const known = yield* loadDelivery(storage, workspace_id, subscription_id, event.id)
  if (known !== null) return { writes: [], jobs: [replayJob(known, null, due_at)] }
  const first = Delivery.handOver({
    subscription_id,
    event_id: event.id,
    event_type: event.type,
    payload: payloadOf(event.json, yield* revisions.pin(workspace_id)),
    at,
    due_at
  })
  return { writes: [Delivery.toStored(first, at)], jobs: [replayJob(first, first.schedule_step, due_at)] }
})
