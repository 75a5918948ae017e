import { Effect } from "effect"
import * as Fault from "../concurrency/Fault.ts"
import type { Event } from "../events/Event.ts"
import type { StoredEvent } from "../storage/Change.ts"
import type { StorageUnavailable } from "../storage/Storage.ts"
import * as Json from "../wire/Json.ts"
import { secondMs } from "../wire/Timestamp.ts"
import * as Consumer from "./Consumer.ts"
import { claim, type NextTurn } from "./claiming.ts"
import type { ConsumerLost, LeasedConsumer } from "./LeasedConsumer.ts"
import * as ParkedEvent from "./ParkedEvent.ts"
import { park, retryParked } from "./parking.ts"
import { annotationsOf, type WorkspaceContext } from "./WorkspaceContext.ts"

/**
 * Tells the program that events were erased before they were handled. Events that a reset erased are not reported,
 * because a reset is deliberate.
 */
const tellExpired = Effect.fnUntraced(function* (context: WorkspaceContext, events: number) {
  const { organization_id, environment } = context.workspace
  const { name: consumer, on_expired } = context.settings
  yield* Effect.logError("Events expired before they were handled; continuing with the oldest remaining event").pipe(
    Effect.annotateLogs({ ...annotationsOf(context), events })
  )
  if (on_expired === null) return
  yield* Fault.callHook(
    () => on_expired({ consumer, organization_id, environment, events }),
    (thrown) => Effect.annotateLogs(Effect.logError("on_expired failed", thrown), annotationsOf(context))
  )
})

/**
 * Reads the next events. The workspace is read first, so that the events reflect every reset that the workspace has
 * counted.
 */
const read = Effect.fnUntraced(function* (context: WorkspaceContext, leasedConsumer: LeasedConsumer) {
  const { clock, lag, storage, workspaces, workspace } = context
  const { now, workspace: workspaceRead } = yield* workspaces.moment(workspace.id)
  const { erased_count } = workspaceRead
  const { position, erased_count: known_count } = leasedConsumer.current()
  const page = yield* storage.feed({ workspace_id: workspace.id, after: position, limit: Consumer.pageEvents })
  if (page.erased_through > position) {
    const { reset_count } = (yield* workspaces.moment(workspace.id)).workspace
    if (reset_count === known_count) yield* tellExpired(context, page.erased_through - position)
  }
  leasedConsumer.set(Consumer.afterErased(leasedConsumer.current(), page.erased_through, erased_count))
  const [oldest] = page.events
  const lagMs = oldest === undefined ? 0 : Math.max(1, now - oldest.occurred_at)
  yield* lag.note(workspace.id, lagMs, clock.currentTimeMillisUnsafe())
  return page.events
})

/** Makes the next attempt at an event. Returns null if it succeeds, and otherwise the kind of failure. */
const attempt = Effect.fnUntraced(function* (
  { clock, runs, settings }: WorkspaceContext,
  leasedConsumer: LeasedConsumer,
  event: Event,
  number: number
) {
  const error = yield* runs.make(event, leasedConsumer.current().failures + 1)
  leasedConsumer.set(
    error === null
      ? Consumer.passed(leasedConsumer.current(), number)
      : Consumer.failed(leasedConsumer.current(), clock.currentTimeMillisUnsafe(), settings)
  )
  return error
})

/**
 * Makes the next attempt at an event alone in this process. The event is stored as running before the attempt, and
 * cleared afterwards. If the process dies in between, this event killed it.
 */
const attemptAlone = (context: WorkspaceContext, leasedConsumer: LeasedConsumer, event: Event, number: number) =>
  context.handlerLock.alone(
    Effect.gen(function* () {
      yield* leasedConsumer.check
      leasedConsumer.set({ ...leasedConsumer.current(), alone: number })
      yield* leasedConsumer.store()
      const error = yield* attempt(context, leasedConsumer, event, number)
      leasedConsumer.set({ ...leasedConsumer.current(), alone: null })
      yield* leasedConsumer.store()
      return error
    })
  )

/** Skips an event, or makes an attempt at it. Returns null if the event is done, and otherwise the kind of failure. */
const tryEvent = Effect.fnUntraced(function* (
  context: WorkspaceContext,
  leasedConsumer: LeasedConsumer,
  event: Event,
  number: number
) {
  const { settings, handlerLock } = context
  if (settings.types !== null && !settings.types.has(event.type)) {
    leasedConsumer.set(Consumer.passed(leasedConsumer.current(), number))
    return null
  }
  if (Consumer.isExhaustedByDeaths(leasedConsumer.current(), settings)) return ParkedEvent.processEnded
  return yield* Consumer.isSuspect(leasedConsumer.current(), number)
    ? attemptAlone(context, leasedConsumer, event, number)
    : handlerLock.together(attempt(context, leasedConsumer, event, number))
})

const eventOf = (body: StoredEvent["body"]): Event => Json.decode(Json.fromText<Event>(body))

/** Handles one event. Returns whether the consumer may continue with the next event. */
const handle = Effect.fnUntraced(function* (
  context: WorkspaceContext,
  leasedConsumer: LeasedConsumer,
  { number, body }: StoredEvent
) {
  const { clock, runs, settings, handlerLock } = context
  yield* leasedConsumer.check
  leasedConsumer.set(Consumer.cleared(leasedConsumer.current(), handlerLock.killer_found_at()))
  const consumerBefore = leasedConsumer.current()
  const error = yield* tryEvent(context, leasedConsumer, eventOf(body), number)
  if (error === null) return true
  if (context.isStopping()) {
    // If the program is stopping, a failed attempt is not treated as a failure of the event.
    leasedConsumer.set({ ...leasedConsumer.current(), failures: consumerBefore.failures, retry_at: null })
    return false
  }
  const killsProcesses = error === ParkedEvent.processEnded
  if (!killsProcesses && !Consumer.isExhausted(leasedConsumer.current(), settings)) return false
  // Decode the event again, because the handler may have changed its copy.
  yield* park(context, leasedConsumer, { event: eventOf(body), number, error })
  if (killsProcesses) handlerLock.noteKiller(clock.currentTimeMillisUnsafe())
  return !runs.isRunning()
})

/** Handles the available events, at most one page. */
const handlePage = Effect.fnUntraced(function* (context: WorkspaceContext, leasedConsumer: LeasedConsumer) {
  if (Consumer.hasRetries(leasedConsumer.current())) yield* retryParked(context, leasedConsumer)
  if (context.runs.isRunning()) return "paused"
  const events = yield* read(context, leasedConsumer)
  for (const event of events) {
    if (context.isStopping() || !(yield* handle(context, leasedConsumer, event))) return "paused"
  }
  if (events.length === Consumer.pageEvents) yield* leasedConsumer.store()
  return events.length > 0 ? "more" : "none"
})

/** Handles events until no event has arrived for a second, an event fails, or the consumer stops. */
const work = Effect.fnUntraced(function* (context: WorkspaceContext, leasedConsumer: LeasedConsumer) {
  while (!context.isStopping()) {
    const page = context.slots.withPermit(handlePage(context, leasedConsumer))
    // While storage is unavailable, the state is kept as long as the lease lasts.
    const outcome = yield* Effect.catchTag(page, "StorageUnavailable", () => Effect.as(Effect.sleep(secondMs), "more"))
    if (outcome === "paused") return
    if (outcome === "none" && !(yield* context.signal.next(Consumer.storeEveryMs))) return
  }
})

/** Claims the consumer, handles events until no event is left, and releases the consumer. */
const turn = (context: WorkspaceContext): Effect.Effect<NextTurn, StorageUnavailable | ConsumerLost> =>
  Effect.andThen(
    context.runs.settled,
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(
        context.slots.withPermit(claim(context)),
        (claimed): Effect.Effect<NextTurn, StorageUnavailable | ConsumerLost> => {
          if (claimed === null || "wait_ms" in claimed) return Effect.succeed(claimed)
          const { consumer } = claimed
          const working = restore(Effect.raceFirst(work(context, consumer), consumer.maintain))
          return Effect.as(Effect.ensuring(working, consumer.release), { wait_ms: 0 })
        }
      )
    )
  )

const failedPauseMs = 5 * secondMs

/** Like `turn`, but never fails. After a failure, it pauses before the next turn. */
const safeTurn = (context: WorkspaceContext): Effect.Effect<NextTurn> =>
  turn(context).pipe(
    Effect.catchTag(["StorageUnavailable", "ConsumerLost"], () => Effect.succeed({ wait_ms: secondMs })),
    Effect.catchDefect((defect) =>
      Effect.logError("A consumer failed; retrying", defect).pipe(
        Effect.annotateLogs(annotationsOf(context)),
        Effect.as({ wait_ms: failedPauseMs })
      )
    )
  )

/** How a workspace's fiber ends without missing a wake-up. */
export interface Leaving {
  /** How many times the fiber was woken. */
  readonly wakeUps: () => number
  /** Lets the fiber end. Returns false, and does not end it, if it was woken after `wakeUps` returned this number. */
  readonly leave: (wakeUps: number) => boolean
}

/** Consumes a workspace's events until no event is left, or the consumer stops. */
export const consumeWorkspace = Effect.fnUntraced(function* (context: WorkspaceContext, { leave, wakeUps }: Leaving) {
  while (!context.isStopping()) {
    const wakeUpCount = wakeUps()
    const next = yield* safeTurn(context)
    if (next === null && leave(wakeUpCount)) return
    if (next !== null && next.wait_ms > 0) yield* context.signal.next(next.wait_ms)
  }
})
