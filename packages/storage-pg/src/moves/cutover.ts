import { Monotonic } from "@quotewire/core"
import { Effect } from "effect"
import type { DatabaseRefused } from "../connection/DatabaseRefused.ts"
import type { ConnectedEnd, Progress } from "./Move.ts"
import * as Source from "./Source.ts"
import * as Target from "./Target.ts"

/**
 * How long a hold waits for the last changes to arrive, in milliseconds. It is shorter than the hold itself, to leave
 * time for the decision.
 */
const arrivalMs = Source.holdMs - 150
const pollMs = 5

/**
 * Waits until the mark, and therefore everything before it, has arrived at the target. Returns false if that takes too
 * long.
 */
const awaitArrival = Effect.fnUntraced(function* (target: ConnectedEnd, mark: string) {
  const untilMs = (yield* Monotonic.millis) + arrivalMs
  while ((yield* Monotonic.millis) < untilMs) {
    if (yield* target.step((session) => Target.hasArrived(session, mark))) return true
    yield* Effect.sleep(pollMs)
  }
  return false
})

/**
 * Tries to cut over: holds the cell, waits until everything has arrived, and decides the move. If that takes too long,
 * releases the cell and returns false. The cutover can then be retried.
 */
export const tryCutover = Effect.fnUntraced(function* (
  source: ConnectedEnd,
  target: ConnectedEnd,
  report: (progress: Progress) => Effect.Effect<void>
): Effect.fn.Return<boolean, DatabaseRefused> {
  const isBlocked = yield* source.step(Source.blockVacuum)
  const beganMs = yield* Monotonic.millis
  const sinceBegin = Effect.map(Monotonic.millis, (now) => Math.round(now - beganMs))
  const mark = isBlocked ? yield* source.step((session) => Source.hold(session, source.schema)) : null
  if (mark !== null) {
    yield* report({ step: "held" })
    const isDecided =
      (yield* awaitArrival(target, mark)) && (yield* source.step((session) => Source.decide(session, mark)))
    if (isDecided) {
      yield* report({ step: "switched", held_ms: yield* sinceBegin })
      return true
    }
    yield* source.step((session) => Source.release(session, source.schema))
  }
  yield* report({ step: "released", held_ms: yield* sinceBegin })
  return false
})
