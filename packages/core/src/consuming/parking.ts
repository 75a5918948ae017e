import { Effect } from "effect"
import * as Fault from "../concurrency/Fault.ts"
import type { Event } from "../events/Event.ts"
import type { StoredRecord } from "../storage/Change.ts"
import { eachPage } from "../storage/Storage.ts"
import type { EventId } from "../wire/Ids.ts"
import * as Consumer from "./Consumer.ts"
import * as ConsumerMetrics from "./ConsumerMetrics.ts"
import { loadParked } from "./ConsumerStore.ts"
import type { LeasedConsumer } from "./LeasedConsumer.ts"
import * as ParkedEvent from "./ParkedEvent.ts"
import { annotationsOf, type WorkspaceContext } from "./WorkspaceContext.ts"

/** An event whose handler failed too many times. */
export interface FailedEvent {
  readonly event: Event
  /** The event's number in the feed. */
  readonly number: number
  readonly error: string
}

/** Parks the next event, and moves the position past it. */
export const park = Effect.fnUntraced(function* (
  context: WorkspaceContext,
  leasedConsumer: LeasedConsumer,
  { error, event, number }: FailedEvent
) {
  const { settings, storage, workspace, workspaces } = context
  const attempts = leasedConsumer.current().failures
  const { now: parked_at } = yield* workspaces.moment(workspace.id)
  const parked = { consumer: settings.name, event, attempts, error, parked_at, status: "parked" } as const
  leasedConsumer.set(Consumer.passed(leasedConsumer.current(), number))
  yield* leasedConsumer.store(
    Effect.map(loadParked(storage, workspace.id, settings.name, event.id), (previous) => [
      ParkedEvent.toStored(parked, (previous?.version ?? 0) + 1, parked_at)
    ])
  )
  yield* ConsumerMetrics.countParked(settings.name)
  yield* Effect.logError("Parked an event after too many failures; continuing with the next one").pipe(
    Effect.annotateLogs({ ...annotationsOf(context), event_id: event.id, event_type: event.type, attempts })
  )
  const { on_parked } = settings
  if (on_parked === null) return
  yield* Fault.callHook(
    () => on_parked(ParkedEvent.view(parked, workspace)),
    (thrown) => Effect.annotateLogs(Effect.logError("on_parked failed", thrown), annotationsOf(context))
  )
})

/** Stores the start or the outcome of a retry, unless the event was dropped in the meantime. */
const update = (
  { settings, storage, workspace, workspaces }: WorkspaceContext,
  leasedConsumer: LeasedConsumer,
  id: EventId,
  change: (parked: ParkedEvent.StoredParkedEvent) => ParkedEvent.StoredParkedEvent
) =>
  leasedConsumer.store(
    Effect.gen(function* () {
      const parked = yield* loadParked(storage, workspace.id, settings.name, id)
      if (parked === null || !ParkedEvent.isRetried(parked.parked)) return []
      const { now } = yield* workspaces.moment(workspace.id)
      return [ParkedEvent.toStored(change(parked.parked), parked.version + 1, now)]
    })
  )

/** The query for this consumer's parked events with the given status. */
const queryWithStatus = ({ settings, workspace }: WorkspaceContext, status: ParkedEvent.StoredParkedEvent["status"]) =>
  ({
    workspace_id: workspace.id,
    kind: ParkedEvent.kind.name,
    parent: settings.name,
    status,
    order: "oldest",
    limit: 100
  }) as const

/**
 * Makes one attempt at each parked event whose retry was requested.
 *
 * An event is stored as running before its attempt. An event that has killed a process runs alone.
 */
export const retryParked = Effect.fnUntraced(function* (context: WorkspaceContext, leasedConsumer: LeasedConsumer) {
  const { isStopping, runs, storage, handlerLock } = context
  const { retries_asked } = leasedConsumer.current()
  const isOver = () => isStopping() || runs.isRunning()
  const retry = Effect.fnUntraced(function* (parked: ParkedEvent.StoredParkedEvent) {
    if (isOver()) return
    yield* leasedConsumer.check
    // Read the ID before the attempt, because the handler may change its event.
    const { id } = parked.event
    const attempt = Effect.andThen(
      update(context, leasedConsumer, id, (parkedEvent) => ({ ...parkedEvent, status: "running" })),
      runs.make(parked.event, parked.attempts + 1)
    )
    const error = yield* ParkedEvent.isSuspect(parked) ? handlerLock.alone(attempt) : handlerLock.together(attempt)
    if (error === null || !isStopping()) {
      yield* update(context, leasedConsumer, id, (parkedEvent) => ParkedEvent.retried(parkedEvent, error))
    }
  })
  for (const status of ["running", "retrying"] as const) {
    yield* eachPage(storage, queryWithStatus(context, status), (records) =>
      Effect.forEach(records.map(ParkedEvent.kind.value), retry, { discard: true })
    )
  }
  if (!isOver()) leasedConsumer.set({ ...leasedConsumer.current(), retries_done: retries_asked })
})

/** What happens to a parked event if the process that retried it has died. */
export interface RetryDeath {
  /** The next version of the parked event's record. */
  readonly record: StoredRecord
  /** Whether the event killed the process. True if the event ran alone. */
  readonly isGuilty: boolean
}

/**
 * Decides what happens to the parked event that a process was retrying when it died; null if the process was not
 * retrying an event.
 */
export const judgeRetry = Effect.fnUntraced(function* (context: WorkspaceContext, now: number) {
  const { records } = yield* context.storage.page({ ...queryWithStatus(context, "running"), after: null })
  const [stored] = records
  if (stored === undefined) return null
  const parked = ParkedEvent.kind.value(stored)
  const isGuilty = ParkedEvent.isSuspect(parked)
  const text = isGuilty
    ? "A parked event ended its process again when it was retried; parked the event again"
    : "A process ended while retrying a parked event; retrying the event alone"
  const { id: event_id, type: event_type } = parked.event
  yield* Effect.annotateLogs(Effect.logError(text), { ...annotationsOf(context), event_id, event_type })
  const record = ParkedEvent.toStored(ParkedEvent.afterDeath(parked), stored.version + 1, now)
  const death: RetryDeath = { record, isGuilty }
  return death
})
