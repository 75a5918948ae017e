import { Effect } from "effect"
import type { Event } from "../events/Event.ts"
import { eachPage } from "../storage/Storage.ts"
import type { EventId } from "../wire/Ids.ts"
import * as Consumer from "./Consumer.ts"
import { loadParked } from "./ConsumerStore.ts"
import type { Hold } from "./Hold.ts"
import * as ParkedEvent from "./ParkedEvent.ts"
import { aboutOf, type Tended } from "./Tended.ts"

/** Parks the event with this number, which is the next one, and goes on behind it. */
export const park = Effect.fnUntraced(function* (
  tended: Tended,
  hold: Hold,
  event: Event,
  number: number,
  error: string
) {
  const { settings, storage, workspace, workspaces } = tended
  const attempts = hold.current().failures
  hold.set(Consumer.passed(hold.current(), number))
  yield* hold.store(
    Effect.gen(function* () {
      const before = yield* loadParked(storage, workspace.id, settings.name, event.id)
      const { now: parked_at } = yield* workspaces.moment(workspace.id)
      const parked = { consumer: settings.name, event, attempts, error, parked_at, status: "parked" } as const
      return [ParkedEvent.toStored(parked, (before?.version ?? 0) + 1, parked_at)]
    })
  )
  yield* Effect.logError("An event has failed too often and was parked; the consumer goes on with the next one").pipe(
    Effect.annotateLogs({ ...aboutOf(tended), event_id: event.id, event_type: event.type, attempts })
  )
})

/** Stores what has come of a retry, unless the event was dropped meanwhile. */
const settle = ({ settings, storage, workspace, workspaces }: Tended, hold: Hold, id: EventId, error: string | null) =>
  hold.store(
    Effect.gen(function* () {
      const found = yield* loadParked(storage, workspace.id, settings.name, id)
      if (found?.parked.status !== "retrying") return []
      const { now } = yield* workspaces.moment(workspace.id)
      return [ParkedEvent.toStored(ParkedEvent.retried(found.parked, error), found.version + 1, now)]
    })
  )

/** Tries the parked events again whose retry was asked for. */
export const retryParked = Effect.fnUntraced(function* (tended: Tended, hold: Hold) {
  const { attempts, isStopping, settings, storage, workspace } = tended
  const { retries_asked } = hold.current()
  const isOver = () => isStopping() || attempts.isRunning()
  const retry = Effect.fnUntraced(function* ({ attempts: failures, event }: ParkedEvent.StoredParkedEvent) {
    if (isOver()) return
    yield* hold.check
    // Read before the attempt: the handler may change its event.
    const { id } = event
    const error = yield* attempts.make(event, failures + 1)
    if (error === null || !isStopping()) yield* settle(tended, hold, id, error)
  })
  yield* eachPage(
    storage,
    {
      workspace_id: workspace.id,
      kind: ParkedEvent.kind.name,
      parent: settings.name,
      status: "retrying",
      order: "oldest",
      limit: 100
    },
    (records) => Effect.forEach(records.map(ParkedEvent.kind.value), retry, { discard: true })
  )
  if (!isOver()) hold.set({ ...hold.current(), retries_done: retries_asked })
})
