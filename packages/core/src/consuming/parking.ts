import { Effect } from "effect"
import type { Event } from "../events/Event.ts"
import { eachPage } from "../storage/Storage.ts"
import type { EventId } from "../wire/Ids.ts"
import * as Consumer from "./Consumer.ts"
import { loadParked } from "./ConsumerStore.ts"
import type { HeldConsumer } from "./HeldConsumer.ts"
import * as ParkedEvent from "./ParkedEvent.ts"
import { annotationsOf, type WorkspaceContext } from "./WorkspaceContext.ts"

/** Parks the next event, which has this number, and moves the position past it. */
export const park = Effect.fnUntraced(function* (
  context: WorkspaceContext,
  held: HeldConsumer,
  event: Event,
  number: number,
  error: string
) {
  const { settings, storage, workspace, workspaces } = context
  const attempts = held.current().failures
  held.set(Consumer.passed(held.current(), number))
  yield* held.store(
    Effect.gen(function* () {
      const before = yield* loadParked(storage, workspace.id, settings.name, event.id)
      const { now: parked_at } = yield* workspaces.moment(workspace.id)
      const parked = { consumer: settings.name, event, attempts, error, parked_at, status: "parked" } as const
      return [ParkedEvent.toStored(parked, (before?.version ?? 0) + 1, parked_at)]
    })
  )
  yield* Effect.logError("An event has failed too often and was parked; the consumer goes on with the next one").pipe(
    Effect.annotateLogs({ ...annotationsOf(context), event_id: event.id, event_type: event.type, attempts })
  )
})

/** Stores the result of a retry, unless the event was dropped meanwhile. */
const settle = (
  { settings, storage, workspace, workspaces }: WorkspaceContext,
  held: HeldConsumer,
  id: EventId,
  error: string | null
) =>
  held.store(
    Effect.gen(function* () {
      const found = yield* loadParked(storage, workspace.id, settings.name, id)
      if (found?.parked.status !== "retrying") return []
      const { now } = yield* workspaces.moment(workspace.id)
      return [ParkedEvent.toStored(ParkedEvent.retried(found.parked, error), found.version + 1, now)]
    })
  )

/** Makes one more attempt of each parked event for which somebody has asked for a retry. */
export const retryParked = Effect.fnUntraced(function* (context: WorkspaceContext, held: HeldConsumer) {
  const { attempts, isStopping, settings, storage, workspace } = context
  const { retries_asked } = held.current()
  const isOver = () => isStopping() || attempts.isRunning()
  const retry = Effect.fnUntraced(function* ({ attempts: failures, event }: ParkedEvent.StoredParkedEvent) {
    if (isOver()) return
    yield* held.check
    // Read before the attempt: the handler may change its event.
    const { id } = event
    const error = yield* attempts.make(event, failures + 1)
    if (error === null || !isStopping()) yield* settle(context, held, id, error)
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
  if (!isOver()) held.set({ ...held.current(), retries_done: retries_asked })
})
