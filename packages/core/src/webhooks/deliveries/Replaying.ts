import { Effect, Schema } from "effect"
import type { Revisions } from "../../calls/Revisions.ts"
import type { Event } from "../../events/Event.ts"
import * as Change from "../../storage/Change.ts"
import { commit, retryOnConflict } from "../../storage/retryOnConflict.ts"
import type { Storage } from "../../storage/Storage.ts"
import type { WorkspaceId } from "../../wire/Ids.ts"
import * as Json from "../../wire/Json.ts"
import { minute_ms } from "../../wire/Timestamp.ts"
import { type KeptSubscription, receives } from "../subscriptions/EventSubscription.ts"
import { activeSubscriptions, loadDelivery } from "../subscriptions/SubscriptionStore.ts"
import * as Delivery from "./Delivery.ts"
import { replayJob } from "./DeliveryJob.ts"
import { payloadOf } from "./Publishing.ts"

/** The ways in which a sandbox sends its events again. */
const replayCodes = ["as_recorded", "duplicated", "reversed", "delayed", "gap"] as const
/** A way in which a sandbox sends its events again. */
export const ReplayCode = Schema.Literals(replayCodes)
export type ReplayCode = typeof ReplayCode.Type

/** So many events are replayed at the most: the newest. */
const max_replayed = 1_000

const at_most = `of more than ${max_replayed}, the newest.`
const dropStale = "Drop events whose resource.version is not newer than the one you hold."

/** What each way of replaying does, and what a correct consumer makes of it. */
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

/** What a replay works with. */
export interface Means {
  readonly storage: Storage["Service"]
  readonly revisions: Revisions["Service"]
}

/** Sends the recorded events of a sandbox again, to every subscription that wants them; answers how many attempts. */
export const replayEvents = Effect.fnUntraced(function* (
  means: Means,
  workspace_id: WorkspaceId,
  code: ReplayCode,
  now: number
) {
  const { storage } = means
  const events = arrange(code, yield* newestEvents(storage, workspace_id))
  const subscriptions = (yield* activeSubscriptions(storage, workspace_id)).filter(receives)
  const when: When = { now, due_at: code === "delayed" ? now + delay_ms : now }
  let deliveries = 0
  for (const subscription of subscriptions) {
    for (const event of events.filter(({ type }) => subscription.event_types.includes(type))) {
      yield* retryOnConflict(sendAgain(means, workspace_id, subscription, event, when))
      deliveries++
    }
  }
  return deliveries
})

/** The moment of a replay and that of its attempts, in milliseconds of workspace time. */
interface When {
  readonly now: number
  readonly due_at: number
}

interface Recorded {
  readonly id: string
  readonly type: string
  readonly json: Json.Json<Event>
}

const newestEvents = Effect.fnUntraced(function* (storage: Storage["Service"], workspace_id: WorkspaceId) {
  let after = 0
  let newest: ReadonlyArray<Recorded> = []
  while (true) {
    const page = yield* storage.feed({ workspace_id, after, limit: max_replayed })
    const events = page.events.map((event): Recorded => {
      const json = Json.fromText<Event>(event.body)
      return { id: event.id, type: Json.decode(json).type, json }
    })
    newest = [...newest, ...events].slice(-max_replayed)
    const last = page.events.at(-1)
    if (last === undefined || page.events.length < max_replayed) return newest
    after = last.number
  }
})

const arrange = (code: ReplayCode, events: ReadonlyArray<Recorded>): ReadonlyArray<Recorded> => {
  switch (code) {
    case "duplicated":
      return events.flatMap((event) => [event, event])
    case "reversed":
      return events.toReversed()
    case "gap":
      return events.slice(1)
    case "as_recorded":
    case "delayed":
      return events
  }
}

/** One more attempt of an event, whatever has become of its delivery; one that was never handed over is now. */
const sendAgain = Effect.fnUntraced(function* (
  { storage, revisions }: Means,
  workspace_id: WorkspaceId,
  { id }: KeptSubscription,
  event: Recorded,
  { now, due_at }: When
) {
  const known = yield* loadDelivery(storage, workspace_id, id, event.id)
  const first = Delivery.handOver({
    subscription_id: id,
    event_id: event.id,
    event_type: event.type,
    payload: payloadOf(event.json, yield* revisions.pin(workspace_id)),
    at: now,
    due_at
  })
  const parts =
    known === null
      ? { writes: [Delivery.toStored(first, now)], jobs: [replayJob(first, first.schedule_step, due_at)] }
      : { jobs: [replayJob(known, null, due_at)] }
  yield* commit(storage, Change.make(workspace_id, parts))
})
