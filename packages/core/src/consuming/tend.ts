import { Effect } from "effect"
import type { Event } from "../events/Event.ts"
import type { StoredEvent } from "../storage/Change.ts"
import type { StorageUnavailable } from "../storage/Storage.ts"
import * as Json from "../wire/Json.ts"
import { second_ms } from "../wire/Timestamp.ts"
import * as Consumer from "./Consumer.ts"
import type { Hold, HoldLost } from "./Hold.ts"
import { park, retryParked } from "./parking.ts"
import { aboutOf, type Tended } from "./Tended.ts"
import { type NextTurn, take } from "./taking.ts"

/** Tells the program that events were erased before they were handled. A reset erases them on purpose. */
const tellExpired = Effect.fnUntraced(function* (tended: Tended, events: number) {
  const { organization_id, environment } = tended.workspace
  const { name: consumer, on_expired } = tended.settings
  yield* Effect.logError("Events have expired before they were handled; the consumer goes on at the oldest").pipe(
    Effect.annotateLogs({ ...aboutOf(tended), events })
  )
  if (on_expired === null) return
  yield* Effect.catchCause(
    Effect.sync(() => on_expired({ consumer, organization_id, environment, events })),
    (cause) => Effect.annotateLogs(Effect.logError("on_expired has failed", cause), aboutOf(tended))
  )
})

/** Reads the next events. The workspace is read before them, so a reset that it counts is one that they show. */
const read = Effect.fnUntraced(function* (tended: Tended, hold: Hold) {
  const { storage, workspaces, workspace } = tended
  const { erased_count } = (yield* workspaces.moment(workspace.id)).workspace
  const { position, erased_count: known_count } = hold.current()
  const page = yield* storage.feed({ workspace_id: workspace.id, after: position, limit: Consumer.page_events })
  if (page.erased_through > position) {
    const { reset_count } = (yield* workspaces.moment(workspace.id)).workspace
    if (reset_count === known_count) yield* tellExpired(tended, page.erased_through - position)
  }
  hold.set(Consumer.afterErased(hold.current(), page.erased_through, erased_count))
  return page.events
})

/** Makes the next attempt of an event. Returns null if it succeeded or is not due, otherwise the kind of its failure. */
const tryEvent = Effect.fnUntraced(function* ({ attempts, clock, settings }: Tended, hold: Hold, event: Event) {
  if (settings.types !== null && !settings.types.has(event.type)) return null
  if (Consumer.isExhausted(hold.current(), settings)) return "process_ended"
  const error = yield* attempts.make(event, hold.current().failures + 1)
  if (error !== null) hold.set(Consumer.failed(hold.current(), clock.currentTimeMillisUnsafe(), settings))
  return error
})

const eventOf = (body: StoredEvent["body"]): Event => Json.decode(Json.fromText<Event>(body))

/** Handles one event. Returns whether the consumer may go on with the next one. */
const handle = Effect.fnUntraced(function* (tended: Tended, hold: Hold, { number, body }: StoredEvent) {
  yield* hold.check
  const before = hold.current()
  const error = yield* tryEvent(tended, hold, eventOf(body))
  if (error === null) {
    hold.set(Consumer.passed(hold.current(), number))
    return true
  }
  if (tended.isStopping()) {
    // An attempt that fails because the program stops says nothing about the event.
    hold.set({ ...hold.current(), failures: before.failures, retry_at: null })
    return false
  }
  if (!Consumer.isExhausted(hold.current(), tended.settings)) return false
  // Read again: the handler may have changed its own copy.
  yield* park(tended, hold, eventOf(body), number, error)
  return !tended.attempts.isRunning()
})

/** Handles what is there now, one page at most. `careful.left` events are stored one by one. */
const handlePage = Effect.fnUntraced(function* (tended: Tended, hold: Hold, careful: { left: number }) {
  if (Consumer.hasRetries(hold.current())) yield* retryParked(tended, hold)
  if (tended.attempts.isRunning()) return "paused"
  const events = yield* read(tended, hold)
  for (const event of events) {
    if (tended.isStopping() || !(yield* handle(tended, hold, event))) return "paused"
    if (careful.left-- > 0) yield* hold.store()
  }
  if (events.length === Consumer.page_events) yield* hold.store()
  return events.length > 0 ? "more" : "none"
})

/** Handles events until none has come for a second, one has failed, or the consumer stops. */
const work = Effect.fnUntraced(function* (tended: Tended, hold: Hold, was_lost: boolean) {
  const careful = { left: was_lost ? Consumer.careful_events : 0 }
  while (!tended.isStopping()) {
    const page = tended.slots.withPermit(handlePage(tended, hold, careful))
    // It keeps what it has done while storage is away, as long as its lease lasts.
    const found = yield* Effect.catchTag(page, "StorageUnavailable", () => Effect.as(Effect.sleep(second_ms), "more"))
    if (found === "paused") return
    if (found === "none" && !(yield* tended.signal.next(Consumer.store_every_ms))) return
  }
})

/** Takes the consumer, handles events until none is left, and gives it back. */
const turn = (tended: Tended): Effect.Effect<NextTurn, StorageUnavailable | HoldLost> =>
  Effect.andThen(
    tended.attempts.settled,
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(
        tended.slots.withPermit(take(tended)),
        (taken): Effect.Effect<NextTurn, StorageUnavailable | HoldLost> => {
          if (taken === null || "wait_ms" in taken) return Effect.succeed(taken)
          const { hold, was_lost } = taken
          const working = restore(Effect.raceFirst(work(tended, hold, was_lost), hold.keep))
          return Effect.as(Effect.ensuring(working, hold.giveBack), { wait_ms: 0 })
        }
      )
    )
  )

const failed_pause_ms = 5 * second_ms

/** The same. A failure is waited out. */
const safeTurn = (tended: Tended): Effect.Effect<NextTurn> =>
  turn(tended).pipe(
    Effect.catchTag(["StorageUnavailable", "HoldLost"], () => Effect.succeed({ wait_ms: second_ms })),
    Effect.catchDefect((defect) =>
      Effect.logError("A consumer has failed; trying again", defect).pipe(
        Effect.annotateLogs(aboutOf(tended)),
        Effect.as({ wait_ms: failed_pause_ms })
      )
    )
  )

/**
 * Consumes the events of a workspace until none is left.
 *
 * `looks` counts who has asked for a look, and `leave` ends this unless somebody has asked since.
 */
export const tend = Effect.fnUntraced(function* (
  tended: Tended,
  looks: () => number,
  leave: (looked: number) => boolean
) {
  while (!tended.isStopping()) {
    const looked = looks()
    const next = yield* safeTurn(tended)
    if (next === null && leave(looked)) return
    if (next !== null && next.wait_ms > 0) yield* tended.signal.next(next.wait_ms)
  }
})
