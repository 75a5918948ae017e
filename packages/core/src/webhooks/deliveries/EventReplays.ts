import { Effect, Option } from "effect"
import { expectationsOf, Workspaces } from "../../access/Workspaces.ts"
import { acceptOnce } from "../../calls/acceptOnce.ts"
import { Revisions } from "../../calls/Revisions.ts"
import type { Event } from "../../events/Event.ts"
import type { StoredEvent } from "../../storage/Change.ts"
import * as Change from "../../storage/Change.ts"
import { commit, retryOnConflict } from "../../storage/retryOnConflict.ts"
import { Storage } from "../../storage/Storage.ts"
import { Ids, type WorkspaceId } from "../../wire/Ids.ts"
import * as Json from "../../wire/Json.ts"
import { type KeptSubscription, receives } from "../subscriptions/EventSubscription.ts"
import { activeSubscriptions, loadDelivery } from "../subscriptions/SubscriptionStore.ts"
import * as Delivery from "./Delivery.ts"
import { replayJob } from "./DeliveryJob.ts"
import { arranged, dueAt, type EventReplay, kind, max_replayed, type ReplayCode } from "./EventReplay.ts"
import { payloadOf } from "./Publishing.ts"

/**
 * Sends the recorded events of a sandbox again, to every subscription that wants them.
 *
 * Each attempt is stored together with how far the replay is: a repeat of the call continues where it was interrupted.
 */
export const make = Effect.gen(function* () {
  const storage = yield* Storage
  const workspaces = yield* Workspaces
  const ids = yield* Ids
  const sendAgain = yield* makeSendAgain

  /** Accepts a replay: decides once what it sends. */
  const accept = ({ workspace_id, id }: Name, code: ReplayCode) =>
    acceptOnce({ storage, workspaces }, kind, { workspace_id, id }, ({ workspace, now }) =>
      Effect.gen(function* () {
        const events = yield* newestEvents(storage, workspace_id)
        const subscriptions = (yield* activeSubscriptions(storage, workspace_id)).filter(receives)
        const value: EventReplay = {
          id: ids.replay(),
          at: now,
          due_at: dueAt(code, now),
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

  /** Makes the next attempt of a replay; returns the replay if it is over, else null. */
  const sendNext = Effect.fnUntraced(function* ({ workspace_id, id }: Name, turns: ReadonlyArray<Turn | null>) {
    const stored = yield* storage.get({ workspace_id, kind: kind.name, id })
    if (Option.isNone(stored)) return yield* Effect.die(new Error("A replay was erased before it was over"))
    const replay = kind.value(stored.value)
    const moment = yield* workspaces.moment(workspace_id)
    const place = turns.findIndex((turn, place) => turn !== null && place >= replay.turns)
    const turn = turns[place] ?? null
    if (turn === null || moment.workspace.reset_count !== replay.reset_count) return replay
    const { created_at, version } = stored.value
    const progress: EventReplay = { ...replay, turns: place + 1, deliveries: replay.deliveries + 1 }
    const record = kind.record(progress, { id, version: version + 1, created_at, updated_at: created_at })
    const { writes, jobs } = yield* sendAgain(workspace_id, turn, replay)
    yield* commit(
      storage,
      Change.make(workspace_id, { writes: [...writes, record], jobs, expects: expectationsOf(moment) })
    )
    return null
  })

  return Effect.fnUntraced(function* (workspace_id: WorkspaceId, code: ReplayCode, key: string | null) {
    const name: Name = { workspace_id, id: `${code} ${key}` }
    const turns = yield* turnsOf(storage, workspace_id, code, yield* accept(name, code))
    while (true) {
      const ended = yield* retryOnConflict(sendNext(name, turns))
      if (ended !== null) return ended
    }
  })
})

/** Names a replay in storage. */
interface Name {
  readonly workspace_id: WorkspaceId
  readonly id: string
}

/** One event for one subscription. */
interface Turn {
  readonly subscription: KeptSubscription
  readonly event: Recorded
}

/** The turns of a replay, in their order; null in place of one that sends nothing. */
const turnsOf = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  workspace_id: WorkspaceId,
  code: ReplayCode,
  replay: EventReplay
) {
  const page = yield* storage.feed({ workspace_id, after: replay.first - 1, limit: max_replayed })
  const events = new Map(page.events.map((event) => [event.number, recorded(event)]))
  const active = new Map((yield* activeSubscriptions(storage, workspace_id)).map((one) => [one.id, one]))
  const numbers = arranged(code, replay)
  return replay.subscriptions.flatMap((id) =>
    numbers.map((number): Turn | null => {
      const subscription = active.get(id)
      const event = events.get(number)
      if (subscription === undefined || event === undefined || !receives(subscription)) return null
      return subscription.event_types.includes(event.type) ? { subscription, event } : null
    })
  )
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

/** Makes one more attempt of an event, whatever has become of its delivery; one that was never handed over is now. */
const makeSendAgain = Effect.gen(function* () {
  const storage = yield* Storage
  const revisions = yield* Revisions

  return Effect.fnUntraced(function* (
    workspace_id: WorkspaceId,
    { subscription: { id: subscription_id }, event }: Turn,
    { at, due_at }: EventReplay
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
})
